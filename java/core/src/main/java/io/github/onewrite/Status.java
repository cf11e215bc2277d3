package io.github.onewrite;

import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The state of each patch and the reason for it: for a log line at the start of a service. A patch that is on counts the
 * connections on which it is not.
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
    static final String ON = "on";

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

    static Status of(
            Base base,
            @Nullable String offBecause,
            Map<String, String> notes,
            SocketCounts counts,
            OnewriteConfig config,
            int hooks,
            long hookErrors) {
        Map<String, String> patches = new LinkedHashMap<>();
        String observes = config.observe() ? "observe is set" : ON;
        patches.put("nodelay", config.nodelayDisabled() ? "nodelayDisabled is set" : observes);
        patches.put("coalesce", config.coalesceDisabled() ? "coalesceDisabled is set" : observes);
        patches.put("timing", config.hooksDisabled() ? "hooksDisabled is set" : hooks == 0 ? "waits for a hook" : ON);
        patches.put("quickack", config.quickack() ? observes : "quickack is not set");
        notes.forEach((patch, why) -> patches.merge(patch, why, (state, note) -> state.equals(ON) ? note : state));
        patches.computeIfPresent("nodelay", (patch, state) -> state.equals(ON) ? counts.nodelay(state) : state);
        patches.computeIfPresent("coalesce", (patch, state) -> state.equals(ON) ? counts.coalesce(state) : state);
        if (offBecause != null) {
            patches.replaceAll((patch, state) -> offBecause);
        }
        return new Status(
                Status.class.getPackage().getImplementationVersion(),
                offBecause == null,
                offBecause,
                base,
                Map.copyOf(patches),
                config,
                hooks,
                hookErrors);
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
                        "nodelay_disabled", options.nodelayDisabled(),
                        "coalesce_disabled", options.coalesceDisabled(),
                        "hooks_disabled", options.hooksDisabled(),
                        "observe", options.observe(),
                        "coalesce_max", options.coalesceMax(),
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
