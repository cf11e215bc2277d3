package io.github.onewrite.opentelemetry;

import io.github.onewrite.Timing;
import io.github.onewrite.TimingHook;
import io.opentelemetry.api.GlobalOpenTelemetry;
import io.opentelemetry.api.OpenTelemetry;
import io.opentelemetry.api.trace.Span;
import java.util.Objects;

/**
 * Brings the timing record to OpenTelemetry, beside the instrumentation you have. Makes no spans.
 *
 * <pre>{@code
 * OkHttpClient client = OnewriteOkHttp.create()
 *         .onTiming(OnewriteOpenTelemetry.create(openTelemetry))
 *         .apply(new OkHttpClient.Builder())
 *         .build();
 * }</pre>
 *
 * <ul>
 *   <li>Metrics: {@code onewrite.wait.duration} in seconds by cause, and {@code onewrite.requests} by whether the connection
 *       was reused.
 *   <li>The span that is current where the request ends, if it still records, gets the phases as {@code onewrite.*}
 *       attributes. With OkHttp that is the span around the code that reads the response: the span of the request itself
 *       has ended with the response's head. On an event loop of Netty there is seldom a current span.
 * </ul>
 *
 * <p>Without an SDK behind the API nothing is recorded. One object may serve any number of clients.
 */
public final class OnewriteOpenTelemetry implements TimingHook {
    private final Metrics metrics;

    private OnewriteOpenTelemetry(OpenTelemetry openTelemetry) {
        this.metrics = new Metrics(openTelemetry
                .getMeterProvider()
                .meterBuilder("onewrite")
                .setInstrumentationVersion("0.1.0")
                .build());
    }

    /** Through the {@linkplain GlobalOpenTelemetry global} OpenTelemetry: that of the Java agent. */
    public static OnewriteOpenTelemetry create() {
        return create(GlobalOpenTelemetry.get());
    }

    /** Through this OpenTelemetry. */
    public static OnewriteOpenTelemetry create(OpenTelemetry openTelemetry) {
        return new OnewriteOpenTelemetry(Objects.requireNonNull(openTelemetry, "openTelemetry"));
    }

    @Override
    public void onTiming(Timing timing) {
        Span span = Span.current();
        if (span.isRecording()) {
            span.setAllAttributes(SpanPhases.of(timing));
        }
        metrics.record(timing);
    }
}
