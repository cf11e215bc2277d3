package io.github.onewrite;

import io.github.onewrite.spi.ServerAddress;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalLong;

/**
 * Timing records under the names of OpenTelemetry, W3C Resource Timing and HAR. Depends on none of them; the values are
 * strings and boxed numbers, ready for a span, a meter or JSON.
 */
public final class TimingMappers {
    private static final DateTimeFormatter MILLISECONDS = DateTimeFormatter.ofPattern(
                    "uuuu-MM-dd'T'HH:mm:ss.SSSX", Locale.ROOT)
            .withZone(ZoneOffset.UTC);

    private TimingMappers() {}

    /**
     * Attributes of an HTTP client span (OpenTelemetry semantic conventions for HTTP, stable names). {@code error.type}
     * is the error kind, or the status as text from 400 on; {@code http.request.resend_count} is there from the second
     * attempt on.
     */
    public static Map<String, Object> otelAttributes(Timing timing) {
        Map<String, Object> found = new LinkedHashMap<>();
        found.put("http.request.method", timing.method());
        found.put("url.full", timing.url());
        putServer(found, timing.url());
        timing.status().ifPresent(status -> found.put("http.response.status_code", status));
        if (timing.attempts().size() > 1) {
            found.put("http.request.resend_count", timing.attempts().size() - 1);
        }
        if (timing.outcome() == Outcome.CANCELLED) {
            found.put("error.type", Outcome.CANCELLED.canonicalName());
        } else if (timing.errorKind().isPresent()) {
            found.put("error.type", timing.errorKind().get().canonicalName());
        } else if (timing.status().orElse(0) >= 400) {
            found.put("error.type", Integer.toString(timing.status().getAsInt()));
        }
        return found;
    }

    private static void putServer(Map<String, Object> found, String url) {
        ServerAddress server = ServerAddress.of(url);
        if (server != null) {
            found.put("server.address", server.host());
            found.put("server.port", server.port());
        }
    }

    /**
     * The phases of the last attempt as attributes of a span: {@code onewrite.queue_ns} to {@code onewrite.receive_ns},
     * {@code onewrite.total_ns} of the call, {@code onewrite.server_ns} and {@code onewrite.network_ns},
     * {@code onewrite.cause}, {@code onewrite.segments_out} and {@code onewrite.send_hold_ns} where the kernel was read,
     * {@code onewrite.reused}, {@code onewrite.conn_id}, {@code onewrite.conn_requests}, {@code onewrite.attempts}. What is
     * absent in the record is absent here. Numbers are Long, flags Boolean.
     */
    public static Map<String, Object> otelPhases(Timing timing) {
        Map<String, Object> found = new LinkedHashMap<>();
        timing.lastAttempt().ifPresent(last -> found.putAll(otelPhases(last)));
        found.put("onewrite.total_ns", timing.totalNanos());
        found.put("onewrite.attempts", (long) timing.attempts().size());
        return found;
    }

    /** The same of one attempt, which may be under way: without {@code onewrite.total_ns} and {@code onewrite.attempts}. */
    public static Map<String, Object> otelPhases(Attempt attempt) {
        Map<String, Object> found = new LinkedHashMap<>();
        for (Phase phase : Phase.values()) {
            if (phase != Phase.TOTAL) {
                put(found, phase.canonicalName() + "_ns", attempt.nanos(phase));
            }
        }
        put(found, "server_ns", attempt.serverNanos());
        put(found, "network_ns", attempt.networkNanos());
        attempt.cause().ifPresent(cause -> found.put("onewrite.cause", cause.canonicalName()));
        attempt.kernel().ifPresent(kernel -> {
            put(found, "segments_out", kernel.segmentsOut());
            put(found, "send_hold_ns", kernel.sendHoldNanos());
        });
        attempt.reused().ifPresent(reused -> found.put("onewrite.reused", reused));
        put(found, "conn_id", attempt.connId());
        attempt.connRequests().ifPresent(requests -> found.put("onewrite.conn_requests", (long) requests));
        return found;
    }

    private static void put(Map<String, Object> found, String name, OptionalLong value) {
        value.ifPresent(present -> found.put("onewrite." + name, present));
    }

    /**
     * Metrics by name, in seconds: {@code http.client.request.duration}, that of the last attempt from its start to the
     * first byte of the response, or to its end when none came; and {@code http.client.request.time_in_queue} (.NET's
     * name) when it waited for a connection.
     */
    public static Map<String, Double> otelMetrics(Timing timing) {
        Map<String, Double> found = new LinkedHashMap<>();
        timing.lastAttempt().ifPresent(last -> {
            last.totalNanos().ifPresent(total -> found.put("http.client.request.duration", duration(last, total)));
            last.queueNanos().ifPresent(queue -> found.put("http.client.request.time_in_queue", queue / 1e9));
        });
        return found;
    }

    private static double duration(Attempt last, long total) {
        OptionalLong wait = last.startNanos(Phase.WAIT);
        return wait.isEmpty()
                ? total / 1e9
                : (wait.getAsLong()
                                + last.waitNanos().orElse(0)
                                - last.startNanos(Phase.TOTAL).orElse(0))
                        / 1e9;
    }

    /**
     * A PerformanceResourceTiming entry of the last attempt (W3C Resource Timing), in milliseconds from the start of the
     * call. Steps that did not happen collapse to {@code fetchStart}, as the standard has it;
     * {@code secureConnectionStart} is 0 without TLS. What was never reached is 0.
     */
    public static Map<String, Object> resourceTiming(Timing timing) {
        Map<String, Object> found = new LinkedHashMap<>();
        found.put("name", timing.url());
        found.put("entryType", "resource");
        found.put("startTime", 0.0);
        timing.lastAttempt().ifPresent(last -> putSteps(found, timing, last));
        found.put("duration", timing.totalNanos() / 1e6);
        return found;
    }

    private static void putSteps(Map<String, Object> found, Timing timing, Attempt last) {
        long origin = timing.startedAtMonoNanos();
        double fetch = start(last, Phase.TOTAL, origin, 0);
        double connected = end(last, Phase.TLS, origin, end(last, Phase.CONNECT, origin, fetch));
        found.put("fetchStart", fetch);
        found.put("domainLookupStart", start(last, Phase.DNS, origin, fetch));
        found.put("domainLookupEnd", end(last, Phase.DNS, origin, fetch));
        found.put("connectStart", start(last, Phase.CONNECT, origin, fetch));
        found.put("secureConnectionStart", start(last, Phase.TLS, origin, 0));
        found.put("connectEnd", connected);
        found.put("requestStart", start(last, Phase.SEND, origin, 0));
        found.put("responseStart", end(last, Phase.WAIT, origin, start(last, Phase.RECEIVE, origin, 0)));
        found.put("responseEnd", end(last, Phase.RECEIVE, origin, 0));
        found.put("responseStatus", last.status().orElse(0));
        found.put("encodedBodySize", last.bytesReceived().orElse(0));
        found.put("nextHopProtocol", "http/1.1");
        if (!last.serverTiming().isEmpty()) {
            found.put(
                    "serverTiming",
                    last.serverTiming().stream().map(TimingMappers::entry).toList());
        }
    }

    /** A PerformanceServerTiming, which has 0 and an empty text for what the server did not say. */
    private static Map<String, Object> entry(ServerTiming timing) {
        Map<String, Object> found = new LinkedHashMap<>();
        found.put("name", timing.name());
        found.put("duration", timing.durationNanos().orElse(0) / 1e6);
        found.put("description", timing.description().orElse(""));
        return found;
    }

    private static double start(Attempt attempt, Phase phase, long origin, double otherwise) {
        OptionalLong at = attempt.startNanos(phase);
        return at.isPresent() ? (at.getAsLong() - origin) / 1e6 : otherwise;
    }

    private static double end(Attempt attempt, Phase phase, long origin, double otherwise) {
        OptionalLong at = attempt.startNanos(phase);
        return at.isPresent() ? (at.getAsLong() + attempt.nanos(phase).orElse(0) - origin) / 1e6 : otherwise;
    }

    /**
     * The times of an HAR 1.2 entry of the last attempt, in milliseconds; -1 is what did not happen.
     * HAR counts TLS in {@code connect} as well as in {@code ssl}.
     */
    public static Map<String, Object> harTimings(Timing timing) {
        Map<String, Object> phases = new LinkedHashMap<>();
        phases.put("blocked", millis(timing.queueNanos()));
        phases.put("dns", millis(timing.dnsNanos()));
        phases.put(
                "connect",
                timing.connectNanos().isPresent()
                        ? (timing.connectNanos().getAsLong() + timing.tlsNanos().orElse(0)) / 1e6
                        : -1.0);
        phases.put("ssl", millis(timing.tlsNanos()));
        phases.put("send", millis(timing.sendNanos()));
        phases.put("wait", millis(timing.waitNanos()));
        phases.put("receive", millis(timing.receiveNanos()));
        Map<String, Object> found = new LinkedHashMap<>();
        found.put("startedDateTime", MILLISECONDS.format(Instant.ofEpochSecond(0, timing.startedAtUnixNanos())));
        found.put("time", timing.totalNanos() / 1e6);
        found.put("timings", phases);
        return found;
    }

    private static double millis(OptionalLong nanos) {
        return nanos.isPresent() ? nanos.getAsLong() / 1e6 : -1.0;
    }
}
