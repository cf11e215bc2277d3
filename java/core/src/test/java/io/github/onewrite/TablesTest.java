package io.github.onewrite;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import io.github.onewrite.spi.ErrorKinds;
import io.github.onewrite.spi.ServerTimings;
import io.github.onewrite.spi.Tables;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The tables that all languages run: text form, mappers, causes, error kinds. */
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

    static Stream<Row> serverTimings() {
        return rows("server_timing");
    }

    static Stream<Row> errorKinds() {
        return rows("error_kinds").filter(row -> row.json.has("java"));
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
        assertMapping(row.json.getAsJsonObject("otel_metrics"), TimingMappers.otelMetrics(timing));
        assertMapping(row.json.getAsJsonObject("resource_timing"), TimingMappers.resourceTiming(timing));
        assertMapping(row.json.getAsJsonObject("har_timings"), TimingMappers.harTimings(timing));
    }

    private static void assertMapping(JsonObject expected, Map<?, ?> found) {
        assertEquals(new TreeSet<>(expected.keySet()), new TreeSet<>((Set<?>) found.keySet()));
        for (String key : expected.keySet()) {
            JsonElement value = expected.get(key);
            if (value.isJsonObject()) {
                assertMapping(value.getAsJsonObject(), (Map<?, ?>) found.get(key));
            } else if (value.isJsonArray()) {
                List<?> entries = (List<?>) found.get(key);
                assertEquals(value.getAsJsonArray().size(), entries.size(), key);
                for (int i = 0; i < entries.size(); i++) {
                    assertMapping(value.getAsJsonArray().get(i).getAsJsonObject(), (Map<?, ?>) entries.get(i));
                }
            } else if (value.getAsJsonPrimitive().isBoolean()) {
                assertEquals(value.getAsBoolean(), found.get(key), key);
            } else if (value.getAsJsonPrimitive().isNumber()) {
                assertEquals(value.getAsDouble(), ((Number) found.get(key)).doubleValue(), 1e-6, key);
            } else {
                assertEquals(value.getAsString(), found.get(key), key);
            }
        }
    }

    @ParameterizedTest
    @MethodSource("serverTimings")
    void serverTiming(Row row) {
        List<ServerTiming> found = ServerTimings.parse(row.json.getAsJsonArray("fields").asList().stream()
                .map(JsonElement::getAsString)
                .toList());
        JsonElement expected = row.json.get("server_timing");
        assertEquals(expected.isJsonNull() ? List.of() : serverTiming(expected.getAsJsonArray()), found);
        long wait = number(row.json, "wait_ns");
        long server = ServerTimings.serverNanos(found, wait);
        assertEquals(number(row.json, "server_ns"), server, "server_ns");
        Attempt attempt = Attempt.builder(0)
                .phase(Phase.WAIT, 0, wait)
                .serverTiming(found, server)
                .build(Outcome.OK);
        assertEquals(number(row.json, "network_ns"), attempt.networkNanos().orElse(-1), "network_ns");
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

    @ParameterizedTest
    @MethodSource("errorKinds")
    void errorKind(Row row) throws Exception {
        for (JsonElement each : row.json.getAsJsonArray("java")) {
            assertEquals(
                    row.json.get("kind").getAsString(),
                    ErrorKinds.of(error(each.getAsJsonObject())).canonicalName(),
                    each.toString());
        }
    }

    private static Throwable error(JsonObject from) throws Exception {
        Class<? extends Throwable> type =
                Class.forName(from.get("class").getAsString()).asSubclass(Throwable.class);
        Throwable made = from.has("message")
                ? type.getConstructor(String.class)
                        .newInstance(from.get("message").getAsString())
                : type.getConstructor().newInstance();
        return from.has("cause") ? made.initCause(error(from.getAsJsonObject("cause"))) : made;
    }

    private static Timing timing(Row row) {
        JsonObject record = Tables.read("records")
                .getAsJsonObject("records")
                .getAsJsonObject(row.json.get("record").getAsString())
                .getAsJsonObject("record");
        long mono = number(record, "started_at_mono_ns");
        List<Attempt> attempts = new ArrayList<>();
        for (JsonElement each : record.getAsJsonArray("attempts")) {
            attempts.add(attempt(each.getAsJsonObject(), mono));
        }
        return new Timing(
                record.get("method").getAsString(),
                record.get("url").getAsString(),
                null,
                named(Outcome.class, record, "outcome"),
                named(ErrorKind.class, record, "error_kind"),
                named(Phase.class, record, "error_phase"),
                number(record, "started_at_unix_ns"),
                mono,
                number(record, "total_ns"),
                attempts);
    }

    private static Attempt attempt(JsonObject from, long mono) {
        Attempt.Builder attempt = Attempt.builder((int) number(from, "index"))
                .status((int) number(from, "status"))
                .connection(
                        number(from, "conn_id"),
                        from.has("reused") && from.get("reused").getAsBoolean(),
                        number(from, "idle_ns"),
                        (int) number(from, "conn_requests"))
                .sent(number(from, "bytes_sent"), (int) number(from, "writes"))
                .received(number(from, "bytes_received"));
        for (Phase phase : Phase.values()) {
            if (from.has(phase.canonicalName() + "_ns")) {
                long start = mono + number(from.getAsJsonObject("at"), BEGINNINGS.get(phase));
                attempt.phase(phase, start, number(from, phase.canonicalName() + "_ns"));
            }
        }
        JsonObject kernel = from.getAsJsonObject("kernel");
        return attempt.kernel(
                        kernel == null
                                ? null
                                : new Kernel(
                                        number(kernel, "segments_out"),
                                        number(kernel, "rtt_us"),
                                        number(kernel, "min_rtt_us"),
                                        number(kernel, "retransmits"),
                                        number(kernel, "send_hold_ns")),
                        named(Cause.class, from, "cause"))
                .serverTiming(
                        from.has("server_timing") ? serverTiming(from.getAsJsonArray("server_timing")) : List.of(),
                        number(from, "server_ns"))
                .build(named(Outcome.class, from, "outcome"));
    }

    private static List<ServerTiming> serverTiming(JsonArray entries) {
        return entries.asList().stream()
                .map(JsonElement::getAsJsonObject)
                .map(entry -> new ServerTiming(
                        entry.get("name").getAsString(),
                        entry.has("duration_ns") ? OptionalLong.of(number(entry, "duration_ns")) : OptionalLong.empty(),
                        Optional.ofNullable(entry.get("description")).map(JsonElement::getAsString)))
                .toList();
    }

    private static long number(JsonObject from, String name) {
        return from.has(name) && !from.get(name).isJsonNull() ? from.get(name).getAsLong() : -1;
    }

    private static <E extends Enum<E>> E named(Class<E> type, JsonObject from, String name) {
        return from.has(name) ? Enum.valueOf(type, from.get(name).getAsString().toUpperCase(Locale.ROOT)) : null;
    }
}
