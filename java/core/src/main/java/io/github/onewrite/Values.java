package io.github.onewrite;

import java.util.Map;
import java.util.OptionalInt;
import java.util.OptionalLong;

/** Numbers of the record; below 0 is absent. */
final class Values {
    private Values() {}

    static OptionalLong present(long value) {
        return value < 0 ? OptionalLong.empty() : OptionalLong.of(value);
    }

    static OptionalInt present(int value) {
        return value < 0 ? OptionalInt.empty() : OptionalInt.of(value);
    }

    /** Puts the value unless it is absent. */
    static void put(Map<String, Object> map, String name, long value) {
        if (value >= 0) {
            map.put(name, value);
        }
    }

    /** {@code RequestStart} as {@code request_start}. */
    static String snakeCase(String camelCase) {
        StringBuilder name = new StringBuilder(camelCase.length() + 2);
        for (int i = 0; i < camelCase.length(); i++) {
            char each = camelCase.charAt(i);
            if (Character.isUpperCase(each) && name.length() > 0) {
                name.append('_');
            }
            name.append(Character.toLowerCase(each));
        }
        return name.toString();
    }
}
