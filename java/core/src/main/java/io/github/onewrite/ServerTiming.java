package io.github.onewrite;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * One entry of a response's {@code Server-Timing} fields (W3C Server Timing): times that the server claims.
 *
 * @param name the metric's name, a token
 * @param durationNanos how long it took in nanoseconds, 0 if the server said 0; empty when it gave no valid duration
 * @param description text for people; empty when the server gave none
 */
public record ServerTiming(String name, OptionalLong durationNanos, Optional<String> description) {

    /** Under the names common to all languages. */
    Map<String, Object> toMap() {
        Map<String, Object> map = new LinkedHashMap<>();
        map.put("name", name);
        durationNanos.ifPresent(nanos -> map.put("duration_ns", nanos));
        description.ifPresent(text -> map.put("description", text));
        return map;
    }
}
