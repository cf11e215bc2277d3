package io.github.onewrite.internal;

import java.util.Map;
import java.util.OptionalInt;
import java.util.OptionalLong;

/** Numbers of the record; below 0 is absent. */
public final class Values {
    private Values() {}

    public static OptionalLong present(long value) {
        return value < 0 ? OptionalLong.empty() : OptionalLong.of(value);
    }

    public static OptionalInt present(int value) {
        return value < 0 ? OptionalInt.empty() : OptionalInt.of(value);
    }

    /** Puts the value unless it is absent. */
    public static void put(Map<String, Object> map, String name, long value) {
        if (value >= 0) {
            map.put(name, value);
        }
    }
}
