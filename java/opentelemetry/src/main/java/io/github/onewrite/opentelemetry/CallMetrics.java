package io.github.onewrite.opentelemetry;

import io.github.onewrite.Attempt;
import io.github.onewrite.Timing;
import io.opentelemetry.api.common.AttributeKey;
import io.opentelemetry.api.common.Attributes;
import io.opentelemetry.api.metrics.DoubleHistogram;
import io.opentelemetry.api.metrics.LongCounter;
import io.opentelemetry.api.metrics.Meter;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** The metrics of finished calls. */
final class CallMetrics {
    /** The methods of the semantic conventions; any other is "_OTHER", which bounds the number of series. */
    static final Set<String> METHODS =
            Set.of("CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "QUERY", "TRACE");

    private static final AttributeKey<String> METHOD = AttributeKey.stringKey("http.request.method");
    private static final AttributeKey<String> CAUSE = AttributeKey.stringKey("onewrite.cause");
    private static final AttributeKey<Boolean> REUSED = AttributeKey.booleanKey("onewrite.reused");

    private final DoubleHistogram wait;
    private final LongCounter requests;

    CallMetrics(Meter meter) {
        // The boundary at 35 ms separates round trips from stalls, which a delayed ACK makes 40 ms or longer.
        this.wait = meter.histogramBuilder("onewrite.wait.duration")
                .setUnit("s")
                .setDescription("From the last byte of the request written to the first byte of the response read")
                .setExplicitBucketBoundariesAdvice(
                        List.of(0.001, 0.0025, 0.005, 0.01, 0.02, 0.035, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0))
                .build();
        this.requests = meter.counterBuilder("onewrite.requests")
                .setUnit("{request}")
                .setDescription("Requests that got a connection")
                .build();
    }

    /** @param call its attributes, of which those of the server are used */
    void record(Timing timing, Map<String, Object> call) {
        Map<String, Object> named = new LinkedHashMap<>(call);
        named.keySet().retainAll(Set.of("server.address", "server.port"));
        Attributes server = Values.attributes(named);
        Attributes method = with(server, METHOD, METHODS.contains(timing.method()) ? timing.method() : "_OTHER");
        for (Attempt attempt : timing.attempts()) {
            attempt.waitNanos()
                    .ifPresent(nanos -> wait.record(
                            nanos / 1e9,
                            attempt.cause()
                                    .map(cause -> with(method, CAUSE, cause.canonicalName()))
                                    .orElse(method)));
            attempt.reused().ifPresent(reused -> requests.add(1, with(server, REUSED, reused)));
        }
    }

    private static <T> Attributes with(Attributes some, AttributeKey<T> key, T value) {
        return some.toBuilder().put(key, value).build();
    }
}
