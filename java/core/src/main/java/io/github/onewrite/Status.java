package io.github.onewrite;

import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The state of each thing that is changed, and the reason for it: for a log line at the start of a service. A state of
 * {@code on} counts the connections on which it is not.
 *
 * @param version of onewrite, or null where its classes are in no jar
 * @param enabled false when everything is as without onewrite
 * @param offBecause why it is not enabled
 * @param base the library that is customized
 * @param patches each thing that is changed: {@code on}, or why it is not
 * @param options the switches
 * @param hooks how many hooks are set
 * @param hookErrors how many times a hook has thrown
 */
public record Status(
        @Nullable String version,
        boolean enabled,
        @Nullable String offBecause,
        Base base,
        Map<String, String> patches,
        OnewriteConfig options,
        int hooks,
        long hookErrors) {
    /**
     * A base library.
     *
     * @param version null where it cannot be read
     */
    public record Base(String name, @Nullable String version) {
        /** The library that a class belongs to, with the version that its jar names. */
        public static Base of(String name, Class<?> type) {
            return new Base(name, type.getPackage().getImplementationVersion());
        }
    }

    /** This with the names of the other languages, ready for JSON. A null value is left out. */
    public Map<String, Object> toMap() {
        Map<String, Object> map = new LinkedHashMap<>();
        putPresent(map, "version", version);
        map.put("enabled", enabled);
        putPresent(map, "off_because", offBecause);
        Map<String, Object> library = new LinkedHashMap<>();
        library.put("name", base.name());
        putPresent(library, "version", base.version());
        map.put("base", library);
        map.put("patches", patches);
        map.put(
                "options",
                Map.of(
                        "disabled", options.disabled(),
                        "observe", options.observe(),
                        "quickack", options.quickack()));
        map.put("hooks", hooks);
        map.put("hook_errors", hookErrors);
        return map;
    }

    private static void putPresent(Map<String, Object> map, String name, @Nullable Object value) {
        if (value != null) {
            map.put(name, value);
        }
    }
}
