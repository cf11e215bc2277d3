package io.github.onewrite;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class TimingMappersTest {
    private static final long MS = 1_000_000;

    /** One attempt: 1 ms of queue, 2 of DNS, 3 of connect, 4 of TLS, 5 of send, 6 of wait, 7 of receive. */
    private static Timing timing(String url, int status, Outcome outcome, ErrorKind kind) {
        long[] starts = new long[Phase.values().length];
        long[] phases = new long[Phase.values().length];
        long at = 10 * MS;
        for (Phase phase : Phase.values()) {
            starts[phase.ordinal()] = phase == Phase.TOTAL ? 10 * MS : at;
            phases[phase.ordinal()] = phase == Phase.TOTAL ? 28 * MS : (phase.ordinal() + 1) * MS;
            at += phases[phase.ordinal()];
        }
        Attempt attempt = Attempt.builder(0)
                .status(status)
                .connection(1, false, -1, 1)
                .sent(300, 1)
                .received(2)
                .phases(starts, phases)
                .build(outcome);
        return new Timing(
                "POST", url, null, outcome, kind, null, 1_500_000_000_123_000_000L, 9 * MS, 30 * MS, List.of(attempt));
    }

    private static Timing refused() {
        return new Timing("GET", "nonsense", null, Outcome.ERROR, ErrorKind.INVALID_REQUEST, null, 0, 0, MS, List.of());
    }

    @Test
    void openTelemetryAttributes() {
        assertEquals(
                Map.of(
                        "http.request.method",
                        "POST",
                        "url.full",
                        "https://example.org/a?b",
                        "server.address",
                        "example.org",
                        "server.port",
                        443,
                        "http.response.status_code",
                        404,
                        "error.type",
                        "404"),
                TimingMappers.otelAttributes(timing("https://example.org/a?b", 404, Outcome.OK, null)));
        Map<String, Object> reset =
                TimingMappers.otelAttributes(timing("http://[::1]:8080", -1, Outcome.ERROR, ErrorKind.RESET));
        assertEquals("::1", reset.get("server.address"));
        assertEquals(8080, reset.get("server.port"));
        assertEquals("reset", reset.get("error.type"));
        assertEquals("invalid_request", TimingMappers.otelAttributes(refused()).get("error.type"));
        Map<String, Object> odd = TimingMappers.otelAttributes(
                timing("http://me:secret@a_b:99999999999/", -1, Outcome.CANCELLED, ErrorKind.CANCELLED));
        assertFalse(odd.containsKey("server.address"));
        assertFalse(odd.containsKey("server.port"));
        assertEquals("cancelled", odd.get("error.type"));
    }

    @Test
    void openTelemetryMetrics() {
        assertEquals(
                Map.of("http.client.request.duration", 0.021, "http.client.request.time_in_queue", 0.001),
                TimingMappers.otelMetrics(timing("http://a/", 200, Outcome.OK, null)));
        assertEquals(Map.of(), TimingMappers.otelMetrics(refused()));
    }

    @Test
    void resourceTiming() {
        Map<String, Object> found = TimingMappers.resourceTiming(timing("http://a/", 200, Outcome.OK, null));
        assertEquals(1.0, found.get("fetchStart"));
        assertEquals(2.0, found.get("domainLookupStart"));
        assertEquals(4.0, found.get("domainLookupEnd"));
        assertEquals(4.0, found.get("connectStart"));
        assertEquals(7.0, found.get("secureConnectionStart"));
        assertEquals(11.0, found.get("connectEnd"));
        assertEquals(11.0, found.get("requestStart"));
        assertEquals(22.0, found.get("responseStart"));
        assertEquals(29.0, found.get("responseEnd"));
        assertEquals(30.0, found.get("duration"));
        assertEquals(200, found.get("responseStatus"));
        assertFalse(TimingMappers.resourceTiming(refused()).containsKey("fetchStart"));
    }

    @Test
    void har() {
        Map<String, Object> found = TimingMappers.harTimings(timing("http://a/", 200, Outcome.OK, null));
        assertEquals("2017-07-14T02:40:00.123Z", found.get("startedDateTime"));
        assertEquals(30.0, found.get("time"));
        assertEquals(
                Map.of(
                        "blocked", 1.0, "dns", 2.0, "connect", 7.0, "ssl", 4.0, "send", 5.0, "wait", 6.0, "receive",
                        7.0),
                found.get("timings"));
        @SuppressWarnings("unchecked")
        Map<String, Object> none =
                (Map<String, Object>) TimingMappers.harTimings(refused()).get("timings");
        assertEquals(-1.0, none.get("wait"));
    }
}
