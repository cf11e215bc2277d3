package io.github.onewrite.opentelemetry;

import io.github.onewrite.TimingListener;
import io.opentelemetry.api.GlobalOpenTelemetry;
import io.opentelemetry.api.OpenTelemetry;
import io.opentelemetry.api.logs.Logger;
import io.opentelemetry.api.logs.LoggerProvider;
import io.opentelemetry.api.metrics.Meter;
import io.opentelemetry.context.Context;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Brings the timing record to OpenTelemetry, beside the instrumentation you have. Makes no spans.
 *
 * <pre>{@code
 * OkHttpClient client = OnewriteOkHttp.create()
 *         .listenerFactory(OnewriteOpenTelemetry.create(openTelemetry))
 *         .apply(new OkHttpClient.Builder())
 *         .build();
 * }</pre>
 *
 * <ul>
 *   <li>The client's span, while it lives, gets the phases as {@code onewrite.*} attributes
 *       ({@link io.github.onewrite.TimingMappers#otelPhases}): the span that is current when the head is written, else the
 *       one that was current when the call began. The phases up to the response's headers are written with these, the rest
 *       if the span still records when the call ends. A {@link Context} given as the request's tag goes before the
 *       current one.
 *   <li>Each call ends with a log event {@code onewrite.request} in the context of that span: the attributes of the call,
 *       the phases, and the whole record as its body.
 *   <li>Metrics: {@code onewrite.wait.duration} by cause, and {@code onewrite.requests}.
 * </ul>
 *
 * <p>Without an SDK behind the API nothing is recorded. One object may serve any number of clients.
 */
public final class OnewriteOpenTelemetry implements TimingListener.Factory {
    private static final String SCOPE = "onewrite";
    private static final String VERSION = "0.1.0";

    private final @Nullable Logger logger;
    private final CallMetrics metrics;

    private OnewriteOpenTelemetry(OpenTelemetry openTelemetry) {
        LoggerProvider logs = openTelemetry.getLogsBridge();
        this.logger = logs != LoggerProvider.noop()
                ? logs.loggerBuilder(SCOPE).setInstrumentationVersion(VERSION).build()
                : null;
        Meter meter = openTelemetry
                .getMeterProvider()
                .meterBuilder(SCOPE)
                .setInstrumentationVersion(VERSION)
                .build();
        this.metrics = new CallMetrics(meter);
    }

    /** Through the {@linkplain GlobalOpenTelemetry global} OpenTelemetry: that of the Java agent. */
    public static OnewriteOpenTelemetry create() {
        return create(GlobalOpenTelemetry.get());
    }

    /** Through the OpenTelemetry given. */
    public static OnewriteOpenTelemetry create(OpenTelemetry openTelemetry) {
        return new OnewriteOpenTelemetry(Objects.requireNonNull(openTelemetry, "openTelemetry"));
    }

    @Override
    public TimingListener create(String method, String url, @Nullable Object tag) {
        Context context = tag instanceof Context given ? given : Context.current();
        return new CallListener(context, logger, metrics);
    }
}
