package io.github.onewrite.driver;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import io.github.onewrite.Attempt;
import io.github.onewrite.Cause;
import io.github.onewrite.ErrorKind;
import io.github.onewrite.Kernel;
import io.github.onewrite.Outcome;
import io.github.onewrite.Phase;
import io.github.onewrite.ServerTiming;
import io.github.onewrite.Timing;
import io.github.onewrite.TimingEvent;
import java.lang.reflect.RecordComponent;
import java.util.Locale;
import java.util.OptionalInt;
import java.util.OptionalLong;

/** The timing record and its events under the canonical names. */
final class TimingJson {
    private TimingJson() {}

    static JsonObject of(Timing timing) {
        JsonObject json = new JsonObject();
        json.addProperty("method", timing.method());
        json.addProperty("url", timing.url());
        json.addProperty("outcome", timing.outcome().canonicalName());
        timing.errorKind().ifPresent(kind -> json.addProperty("error_kind", kind.canonicalName()));
        timing.errorPhase().ifPresent(phase -> json.addProperty("error_phase", phase.canonicalName()));
        json.addProperty("started_at_unix_ns", timing.startedAtUnixNanos());
        json.addProperty("started_at_mono_ns", timing.startedAtMonoNanos());
        JsonArray attempts = new JsonArray();
        timing.attempts().forEach(attempt -> attempts.add(of(attempt)));
        // The shortcuts are those of the last attempt; only the total is the call's own.
        timing.lastAttempt().ifPresent(last -> of(last).entrySet().stream()
                .filter(each -> !each.getKey().equals("index") && !each.getKey().equals("outcome"))
                .forEach(each -> json.add(each.getKey(), each.getValue())));
        json.addProperty("total_ns", timing.totalNanos());
        json.add("attempts", attempts);
        return json;
    }

    private static JsonObject of(Attempt attempt) {
        JsonObject json = new JsonObject();
        json.addProperty("index", attempt.index());
        json.addProperty("outcome", attempt.outcome().canonicalName());
        put(json, "status", attempt.status());
        put(json, "conn_id", attempt.connId());
        attempt.reused().ifPresent(reused -> json.addProperty("reused", reused));
        put(json, "idle_ns", attempt.idleNanos());
        put(json, "conn_requests", attempt.connRequests());
        put(json, "bytes_sent", attempt.bytesSent());
        put(json, "writes", attempt.writes());
        put(json, "bytes_received", attempt.bytesReceived());
        for (Phase phase : Phase.values()) {
            put(json, phase.canonicalName() + "_ns", attempt.nanos(phase));
        }
        attempt.kernel().ifPresent(kernel -> json.add("kernel", of(kernel)));
        attempt.cause().map(Cause::canonicalName).ifPresent(cause -> json.addProperty("cause", cause));
        if (!attempt.serverTiming().isEmpty()) {
            JsonArray entries = new JsonArray();
            attempt.serverTiming().forEach(entry -> entries.add(of(entry)));
            json.add("server_timing", entries);
        }
        put(json, "server_ns", attempt.serverNanos());
        put(json, "network_ns", attempt.networkNanos());
        return json;
    }

    private static JsonObject of(ServerTiming entry) {
        JsonObject json = new JsonObject();
        json.addProperty("name", entry.name());
        put(json, "duration_ns", entry.durationNanos());
        entry.description().ifPresent(text -> json.addProperty("description", text));
        return json;
    }

    private static JsonObject of(Kernel kernel) {
        JsonObject json = new JsonObject();
        put(json, "segments_out", kernel.segmentsOut());
        put(json, "rtt_us", kernel.rttMicros());
        put(json, "min_rtt_us", kernel.minRttMicros());
        put(json, "retransmits", kernel.retransmits());
        put(json, "send_hold_ns", kernel.sendHoldNanos());
        return json;
    }

    /** Events are records whose components are the canonical fields in camel case. */
    static JsonObject of(TimingEvent event) {
        JsonObject json = new JsonObject();
        json.addProperty("name", event.name());
        json.addProperty("t_ns", event.timeNanos());
        if (event.attempt() >= 0) {
            json.addProperty("attempt", event.attempt());
        }
        for (RecordComponent component : event.getClass().getRecordComponents()) {
            if (!component.getName().equals("timeNanos") && !component.getName().equals("attempt")) {
                put(json, canonical(component.getName()), value(event, component));
            }
        }
        return json;
    }

    private static Object value(TimingEvent event, RecordComponent component) {
        try {
            return component.getAccessor().invoke(event);
        } catch (ReflectiveOperationException e) {
            throw new LinkageError("an event record hides " + component, e);
        }
    }

    private static String canonical(String camelCase) {
        return camelCase.replaceAll("Nanos$", "Ns").replaceAll("([A-Z])", "_$1").toLowerCase(Locale.ROOT);
    }

    private static void put(JsonObject json, String name, Object value) {
        if (value instanceof Outcome outcome) {
            json.addProperty(name, outcome.canonicalName());
        } else if (value instanceof ErrorKind kind) {
            json.addProperty(name, kind.canonicalName());
        } else if (value instanceof Phase phase) {
            json.addProperty(name, phase.canonicalName());
        } else if (value instanceof Boolean flag) {
            json.addProperty(name, flag);
        } else if (value instanceof Number number && number.longValue() != -1) {
            json.addProperty(name, number);
        } else if (value instanceof String text) {
            json.addProperty(name, text);
        }
    }

    private static void put(JsonObject json, String name, OptionalLong value) {
        value.ifPresent(present -> json.addProperty(name, present));
    }

    private static void put(JsonObject json, String name, OptionalInt value) {
        value.ifPresent(present -> json.addProperty(name, present));
    }
}
