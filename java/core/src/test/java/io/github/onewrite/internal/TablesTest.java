package io.github.onewrite.internal;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.google.gson.Gson;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import io.github.onewrite.Cause;
import io.github.onewrite.ErrorKind;
import io.github.onewrite.Kernel;
import io.github.onewrite.Outcome;
import io.github.onewrite.Phase;
import io.github.onewrite.Timing;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The tables that all languages run: records, text form, URLs, causes. */
class TablesTest {
    /** A row, named in reports by its subject. */
    record Row(JsonObject json) {
        @Override
        public String toString() {
            return json.get(json.has("about") ? "about" : "record").getAsString();
        }
    }

    static Stream<Row> texts() {
        return Tables.rows("text_form").map(Row::new);
    }

    static Stream<Row> urls() {
        return Tables.rows("urls").map(Row::new);
    }

    static Stream<Row> causes() {
        return Tables.rows("causes").map(Row::new);
    }

    static Stream<String> names() {
        return Tables.read("records").getAsJsonObject("records").keySet().stream();
    }

    @ParameterizedTest
    @MethodSource("texts")
    void textForm(Row row) {
        assertEquals(
                row.json.get("text").getAsString(),
                timing(row.json.get("record").getAsString()).toString());
    }

    @ParameterizedTest
    @MethodSource("urls")
    void url(Row row) {
        Stamps stamps = new Stamps(1);
        stamps.target = row.json.get("url").getAsString();
        assertEquals(row.json.get("record").getAsString(), stamps.url());
    }

    @ParameterizedTest
    @MethodSource("names")
    void mapAndEvents(String name) {
        JsonObject row = Tables.read("records").getAsJsonObject("records").getAsJsonObject(name);
        Timing timing = timing(name);
        Map<String, Object> map = timing.toMap();
        map.remove("started_at_unix_ns"); // The wall clock is read when the record ends.
        JsonObject expected = row.getAsJsonObject("record").deepCopy();
        expected.remove("started_at_unix_ns");
        assertEquals(expected, new Gson().toJsonTree(map));
        List<Timing.Event> events = new ArrayList<>();
        for (Map.Entry<String, JsonElement> each : row.getAsJsonObject("at").entrySet()) {
            events.add(new Timing.Event(
                    each.getKey(), timing.startedAtMonoNanos() + each.getValue().getAsLong()));
        }
        assertEquals(events, timing.events());
    }

    @ParameterizedTest
    @MethodSource("causes")
    void cause(Row row) {
        JsonObject before = row.json.getAsJsonObject("before");
        JsonObject after = row.json.getAsJsonObject("after");
        long windowMicros = number(after, "rwnd_limited_us") - number(before, "rwnd_limited_us");
        long responseStart = 1 + number(row.json, "wait_ns");
        Stamps stamps = new Stamps(1);
        stamps.writes = (int) number(row.json, "writes");
        stamps.stamp(Moment.REQUEST_END, 1);
        stamps.stamp(Moment.RESPONSE_START, responseStart);
        stamps.evidence(
                responseStart + Math.max(0, number(after, "read_after_ns")),
                number(row.json, "segments_out"),
                1,
                1,
                number(after, "retransmits") - number(before, "retransmits"),
                number(after, "last_data_sent_ms"),
                number(after, "last_data_recv_ms"),
                windowMicros * 1000,
                row.json.get("nodelay").getAsBoolean());
        Kernel kernel = Objects.requireNonNull(stamps.kernel);
        assertEquals(number(row.json, "retransmits"), kernel.retransmits());
        assertEquals(number(row.json, "send_hold_ns"), kernel.sendHoldNanos());
        assertEquals(number(row.json, "unread_ns"), kernel.unreadNanos());
        Cause cause = stamps.cause;
        JsonElement expected = row.json.get("cause");
        assertEquals(
                expected.isJsonNull() ? null : expected.getAsString(), cause == null ? null : cause.canonicalName());
    }

    /** The record of a row, stamped as an adapter would. */
    private static Timing timing(String name) {
        JsonObject row = Tables.read("records").getAsJsonObject("records").getAsJsonObject(name);
        JsonObject record = row.getAsJsonObject("record");
        long started = number(record, "started_at_mono_ns");
        Stamps stamps = new Stamps(started);
        for (Map.Entry<String, JsonElement> at : row.getAsJsonObject("at").entrySet()) {
            stamps.stamp(
                    Moment.valueOf(at.getKey().toUpperCase(Locale.ROOT)),
                    started + at.getValue().getAsLong());
        }
        stamps.method = record.get("method").getAsString();
        stamps.target = record.has("url") ? record.get("url").getAsString() : "";
        stamps.status = (int) number(record, "status");
        stamps.resend = Math.max(0, (int) number(record, "resend"));
        stamps.connection = number(record, "conn_id");
        stamps.requests = (int) number(record, "conn_requests");
        stamps.idle = number(record, "idle_ns");
        stamps.proxy = record.has("proxy") ? record.get("proxy").getAsString() : null;
        stamps.bytesSent = number(record, "bytes_sent");
        stamps.writes = (int) number(record, "writes");
        stamps.bytesReceived = number(record, "bytes_received");
        JsonObject kernel = record.getAsJsonObject("kernel");
        stamps.kernel = kernel == null
                ? null
                : new Kernel(
                        number(kernel, "segments_out"),
                        number(kernel, "rtt_us"),
                        number(kernel, "min_rtt_us"),
                        number(kernel, "retransmits"),
                        number(kernel, "send_hold_ns"),
                        number(kernel, "unread_ns"));
        stamps.cause = named(Cause.class, record, "cause");
        long ended = started + number(record, "total_ns");
        if (named(Outcome.class, record, "outcome") == Outcome.OK) {
            stamps.end(ended);
        } else {
            stamps.failed(named(ErrorKind.class, record, "error_kind"), ended);
        }
        // Which phase it was follows from the moments.
        assertEquals(named(Phase.class, record, "error_phase"), stamps.errorPhase);
        return new Timing(stamps);
    }

    private static long number(JsonObject from, String name) {
        return from.has(name) && !from.get(name).isJsonNull() ? from.get(name).getAsLong() : -1;
    }

    private static <E extends Enum<E>> E named(Class<E> type, JsonObject from, String name) {
        return from.has(name) ? Enum.valueOf(type, from.get(name).getAsString().toUpperCase(Locale.ROOT)) : null;
    }
}
