package io.github.onewrite;

import java.net.MalformedURLException;
import java.net.URL;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.OptionalLong;

/**
 * Timing records under the names of OpenTelemetry. The values are strings and boxed numbers, ready for a span, a meter or
 * JSON.
 */
public final class TimingMappers {
    private TimingMappers() {}

    /**
     * Attributes of an HTTP client span (OpenTelemetry semantic conventions for HTTP, stable names). {@code error.type}
     * is the error kind, or the status as text from 400 on; {@code http.request.resend_count} is there from the second
     * attempt on.
     */
    public static Map<String, Object> otelAttributes(Timing timing) {
        Map<String, Object> named = new LinkedHashMap<>();
        named.put("http.request.method", timing.method());
        named.put("url.full", timing.url());
        putServer(named, timing.url());
        timing.status().ifPresent(status -> named.put("http.response.status_code", status));
        if (timing.attempts().size() > 1) {
            named.put("http.request.resend_count", timing.attempts().size() - 1);
        }
        if (timing.outcome() == Outcome.CANCELLED) {
            named.put("error.type", Outcome.CANCELLED.canonicalName());
        } else if (timing.errorKind().isPresent()) {
            named.put("error.type", timing.errorKind().get().canonicalName());
        } else if (timing.status().orElse(0) >= 400) {
            named.put("error.type", Integer.toString(timing.status().getAsInt()));
        }
        return named;
    }

    /** The server that the URL names, without the brackets of an IPv6 address; the port is the scheme's by default. */
    private static void putServer(Map<String, Object> named, String url) {
        try {
            URL parsed = new URL(url);
            String host = parsed.getHost();
            if (!host.isEmpty()) {
                named.put("server.address", host.startsWith("[") ? host.substring(1, host.length() - 1) : host);
                named.put("server.port", parsed.getPort() < 0 ? parsed.getDefaultPort() : parsed.getPort());
            }
        } catch (MalformedURLException e) {
            // A URL that was refused names no server.
        }
    }

    /**
     * The phases of the last attempt as attributes of a span: {@code onewrite.queue_ns} to {@code onewrite.receive_ns},
     * {@code onewrite.total_ns} of the call, {@code onewrite.cause}, {@code onewrite.segments_out} and {@code onewrite.send_hold_ns} where the kernel was read,
     * {@code onewrite.reused}, {@code onewrite.conn_id}, {@code onewrite.conn_requests}, {@code onewrite.proxy},
     * {@code onewrite.attempts}.
     * Values that the record lacks are absent. Numbers are Long, flags Boolean.
     */
    public static Map<String, Object> otelPhases(Timing timing) {
        Map<String, Object> named = new LinkedHashMap<>();
        timing.lastAttempt().ifPresent(last -> named.putAll(otelPhases(last)));
        named.put("onewrite.total_ns", timing.totalNanos());
        named.put("onewrite.attempts", (long) timing.attempts().size());
        return named;
    }

    /** The same of one attempt, which may be under way: without {@code onewrite.total_ns} and {@code onewrite.attempts}. */
    public static Map<String, Object> otelPhases(Attempt attempt) {
        Map<String, Object> named = new LinkedHashMap<>();
        for (Phase phase : Phase.values()) {
            if (phase != Phase.TOTAL) {
                put(named, phase.canonicalName() + "_ns", attempt.nanos(phase));
            }
        }
        attempt.cause().ifPresent(cause -> named.put("onewrite.cause", cause.canonicalName()));
        attempt.kernel().ifPresent(kernel -> {
            put(named, "segments_out", kernel.segmentsOut());
            put(named, "send_hold_ns", kernel.sendHoldNanos());
        });
        attempt.reused().ifPresent(reused -> named.put("onewrite.reused", reused));
        put(named, "conn_id", attempt.connId());
        attempt.connRequests().ifPresent(requests -> named.put("onewrite.conn_requests", (long) requests));
        attempt.proxy().ifPresent(proxy -> named.put("onewrite.proxy", proxy));
        return named;
    }

    private static void put(Map<String, Object> named, String name, OptionalLong value) {
        value.ifPresent(present -> named.put("onewrite." + name, present));
    }
}
