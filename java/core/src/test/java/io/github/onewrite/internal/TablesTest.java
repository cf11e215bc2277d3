package io.github.onewrite.internal;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonPrimitive;
import io.github.onewrite.Cause;
import io.github.onewrite.ErrorKind;
import io.github.onewrite.Kernel;
import io.github.onewrite.Outcome;
import io.github.onewrite.Phase;
import io.github.onewrite.Timing;
import io.github.onewrite.TimingMappers;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The tables that all languages run: text form, mappers, causes. */
class TablesTest {
    /** The event that begins a phase. */
    private static final Map<Phase, String> BEGINNINGS = Map.of(
            Phase.QUEUE, "queue_start",
            Phase.DNS, "dns_start",
            Phase.CONNECT, "connect_start",
            Phase.TLS, "tls_start",
            Phase.SEND, "request_start",
            Phase.WAIT, "request_end",
            Phase.RECEIVE, "response_start",
            Phase.TOTAL, "attempt_start");

    /** A row, named in reports by its subject. */
    record Row(JsonObject json) {
        @Override
        public String toString() {
            return json.get(json.has("about") ? "about" : "record").getAsString();
        }
    }

    private static Stream<Row> rows(String table) {
        return Tables.rows(table).map(Row::new);
    }

    static Stream<Row> texts() {
        return rows("text_form");
    }

    static Stream<Row> mappings() {
        return rows("mappers");
    }

    static Stream<Row> causes() {
        return rows("causes");
    }

    @ParameterizedTest
    @MethodSource("texts")
    void textForm(Row row) {
        assertEquals(row.json.get("text").getAsString(), timing(row).toString());
    }

    @ParameterizedTest
    @MethodSource("mappings")
    void mappers(Row row) {
        Timing timing = timing(row);
        assertMapping(row.json.getAsJsonObject("otel_attributes"), TimingMappers.otelAttributes(timing));
        assertMapping(row.json.getAsJsonObject("otel_phases"), TimingMappers.otelPhases(timing));
    }

    private static void assertMapping(JsonObject expected, Map<String, Object> actual) {
        assertEquals(new TreeSet<>(expected.keySet()), new TreeSet<>(actual.keySet()));
        for (String key : expected.keySet()) {
            JsonPrimitive value = expected.getAsJsonPrimitive(key);
            if (value.isBoolean()) {
                assertEquals(value.getAsBoolean(), actual.get(key), key);
            } else if (value.isNumber()) {
                assertEquals(value.getAsLong(), ((Number) actual.get(key)).longValue(), key);
            } else {
                assertEquals(value.getAsString(), actual.get(key), key);
            }
        }
    }

    @ParameterizedTest
    @MethodSource("causes")
    void cause(Row row) {
        JsonObject before = row.json.getAsJsonObject("before");
        JsonObject after = row.json.getAsJsonObject("after");
        long windowMicros = number(after, "rwnd_limited_us") - number(before, "rwnd_limited_us");
        boolean nagle = !row.json.get("nodelay").getAsBoolean() && number(row.json, "writes") > 1;
        Cause cause = Cause.of(
                number(row.json, "wait_ns"),
                number(row.json, "send_hold_ns"),
                number(row.json, "retransmits"),
                windowMicros * 1000,
                nagle);
        JsonElement expected = row.json.get("cause");
        assertEquals(
                expected.isJsonNull() ? null : expected.getAsString(), cause == null ? null : cause.canonicalName());
    }

    /** The record, made of its events as a client would. */
    private static Timing timing(Row row) {
        JsonObject record = Tables.read("records")
                .getAsJsonObject("records")
                .getAsJsonObject(row.json.get("record").getAsString())
                .getAsJsonObject("record");
        Hooks hooks = new Hooks(List.of(timing -> {}), List.of(), new AtomicLong());
        TimedCall call = new TimedCall(
                hooks,
                record.get("method").getAsString(),
                record.get("url").getAsString(),
                "",
                null,
                number(record, "started_at_unix_ns"),
                number(record, "started_at_mono_ns"));
        for (JsonElement each : record.getAsJsonArray("attempts")) {
            call.add(attempt(each.getAsJsonObject(), number(record, "started_at_mono_ns")));
        }
        call.seal(
                number(record, "started_at_mono_ns") + number(record, "total_ns"),
                named(Outcome.class, record, "outcome"),
                named(ErrorKind.class, record, "error_kind"),
                named(Phase.class, record, "error_phase"));
        return call;
    }

    private static TimedAttempt attempt(JsonObject from, long mono) {
        TimedAttempt attempt = new TimedAttempt((int) number(from, "index"));
        attempt.outcome = named(Outcome.class, from, "outcome");
        attempt.status = (int) number(from, "status");
        attempt.connId = number(from, "conn_id");
        attempt.reused = from.has("reused") && from.get("reused").getAsBoolean();
        attempt.idleNanos = number(from, "idle_ns");
        attempt.connRequests = (int) number(from, "conn_requests");
        attempt.proxy = from.has("proxy") ? from.get("proxy").getAsString() : null;
        attempt.bytesSent = number(from, "bytes_sent");
        attempt.writes = (int) number(from, "writes");
        attempt.bytesReceived = number(from, "bytes_received");
        for (Phase phase : Phase.values()) {
            if (from.has(phase.canonicalName() + "_ns")) {
                long start = mono + number(from.getAsJsonObject("at"), BEGINNINGS.get(phase));
                attempt.begin(phase, start);
                attempt.end(phase, start + number(from, phase.canonicalName() + "_ns"));
            }
        }
        JsonObject kernel = from.getAsJsonObject("kernel");
        attempt.kernel = kernel == null
                ? null
                : new Kernel(
                        number(kernel, "segments_out"),
                        number(kernel, "rtt_us"),
                        number(kernel, "min_rtt_us"),
                        number(kernel, "retransmits"),
                        number(kernel, "send_hold_ns"));
        attempt.cause = named(Cause.class, from, "cause");
        return attempt;
    }

    private static long number(JsonObject from, String name) {
        return from.has(name) && !from.get(name).isJsonNull() ? from.get(name).getAsLong() : -1;
    }

    private static <E extends Enum<E>> E named(Class<E> type, JsonObject from, String name) {
        return from.has(name) ? Enum.valueOf(type, from.get(name).getAsString().toUpperCase(Locale.ROOT)) : null;
    }
}
