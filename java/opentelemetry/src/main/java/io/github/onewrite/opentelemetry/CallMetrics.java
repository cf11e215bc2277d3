package io.github.onewrite.opentelemetry;

import io.github.onewrite.Attempt;
import io.github.onewrite.Cause;
import io.github.onewrite.Timing;
import io.github.onewrite.TimingMappers;
import io.opentelemetry.api.common.AttributeKey;
import io.opentelemetry.api.common.Attributes;
import io.opentelemetry.api.common.AttributesBuilder;
import io.opentelemetry.api.metrics.DoubleHistogram;
import io.opentelemetry.api.metrics.LongCounter;
import io.opentelemetry.api.metrics.Meter;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** The metrics of finished calls. */
final class CallMetrics {
    /** The methods of the semantic conventions; any other is "_OTHER", which bounds the number of series. */
    static final Set<String> METHODS =
            Set.of("CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "QUERY", "TRACE");

    private static final AttributeKey<String> METHOD = AttributeKey.stringKey("http.request.method");
    private static final AttributeKey<Long> STATUS = AttributeKey.longKey("http.response.status_code");
    private static final AttributeKey<String> ERROR = AttributeKey.stringKey("error.type");
    private static final AttributeKey<String> CAUSE = AttributeKey.stringKey("onewrite.cause");
    private static final AttributeKey<Boolean> REUSED = AttributeKey.booleanKey("onewrite.reused");

    private final @Nullable DoubleHistogram duration;
    private final DoubleHistogram wait;
    private final LongCounter requests;

    /** @param withDuration whether http.client.request.duration is recorded */
    CallMetrics(Meter meter, boolean withDuration) {
        this.duration = withDuration
                ? seconds(
                        meter,
                        "http.client.request.duration",
                        "Duration of HTTP client requests.",
                        List.of(0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0))
                : null;
        // The boundary at 35 ms separates round trips from stalls, which a delayed ACK makes 40 ms or longer.
        this.wait = seconds(
                meter,
                "onewrite.wait.duration",
                "From the request's last write to the response's first byte, of each attempt.",
                List.of(0.001, 0.0025, 0.005, 0.01, 0.02, 0.035, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0));
        this.requests = meter.counterBuilder("onewrite.requests")
                .setUnit("{request}")
                .setDescription("Requests that got a connection, reused or new.")
                .build();
    }

    /** A histogram of seconds with these bucket boundaries. */
    static DoubleHistogram seconds(Meter meter, String name, String description, List<Double> boundaries) {
        return meter.histogramBuilder(name)
                .setUnit("s")
                .setDescription(description)
                .setExplicitBucketBoundariesAdvice(boundaries)
                .build();
    }

    void record(Timing timing, Attributes server) {
        String method = METHODS.contains(timing.method()) ? timing.method() : "_OTHER";
        Attributes named = Server.with(server, METHOD, method);
        Double seconds = TimingMappers.otelMetrics(timing).get("http.client.request.duration");
        if (duration != null && seconds != null) {
            duration.record(seconds, outcome(named, TimingMappers.otelAttributes(timing)));
        }
        for (Attempt attempt : timing.attempts()) {
            attempt.waitNanos().ifPresent(nanos -> {
                Attributes known = attempt.cause()
                        .map(Cause::canonicalName)
                        .map(cause -> Server.with(named, CAUSE, cause))
                        .orElse(named);
                wait.record(nanos / 1e9, known);
            });
            attempt.reused().ifPresent(reused -> requests.add(1, Server.with(server, REUSED, reused)));
        }
    }

    private static Attributes outcome(Attributes named, Map<String, Object> call) {
        AttributesBuilder all = named.toBuilder();
        if (call.get(STATUS.getKey()) instanceof Number status) {
            all.put(STATUS, status.longValue());
        }
        if (call.get(ERROR.getKey()) instanceof String error) {
            all.put(ERROR, error);
        }
        return all.build();
    }
}
