package io.github.onewrite.opentelemetry;

import io.github.onewrite.Attempt;
import io.github.onewrite.Timing;
import io.github.onewrite.TimingEvent;
import io.github.onewrite.TimingMappers;
import io.github.onewrite.spi.PooledConnection;
import io.github.onewrite.spi.RecordListener;
import io.opentelemetry.api.common.Attributes;
import io.opentelemetry.api.logs.Logger;
import io.opentelemetry.api.logs.Severity;
import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.SpanContext;
import io.opentelemetry.context.Context;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** Follows one call: finds its span, sets attributes while it is open, and reports the finished call. */
final class CallListener implements RecordListener {
    private final Attributes server;
    private final @Nullable Logger logger;
    private final CallMetrics metrics;
    private final OpenConnections connections;
    private Context context;
    private OpenConnections.@Nullable Held connection;
    private long connected = -1;

    CallListener(
            Context context,
            Attributes server,
            @Nullable Logger logger,
            CallMetrics metrics,
            OpenConnections connections) {
        this.context = context;
        this.server = server;
        this.logger = logger;
        this.metrics = metrics;
        this.connections = connections;
    }

    @Override
    public void onEvent(TimingEvent event) {
        if (event instanceof TimingEvent.AttemptStart) {
            connected = -1;
        } else if (event instanceof TimingEvent.ConnectEnd) {
            connected = event.timeNanos();
        } else if (event instanceof TimingEvent.ConnectionReleased || event instanceof TimingEvent.AttemptEnd) {
            release();
        }
    }

    private void release() {
        if (connection != null) {
            connection.release();
            connection = null;
        }
    }

    @Override
    public void onConnection(PooledConnection acquired) {
        connection = connections.acquire(acquired, server, connected < 0 ? System.nanoTime() : connected);
    }

    /**
     * Instrumentations of OkHttp and of Netty start their span only now. On an event loop the current span may be another
     * call's, which has another trace.
     */
    @Override
    public void onRequestWrite() {
        Context now = Context.current();
        SpanContext before = Span.fromContext(context).getSpanContext();
        Span current = Span.fromContext(now);
        if (current.isRecording()
                && (!before.isValid()
                        || before.getTraceId().equals(current.getSpanContext().getTraceId()))) {
            context = now;
        }
    }

    @Override
    public void onProgress(Attempt soFar) {
        Span span = Span.fromContext(context);
        if (span.isRecording()) {
            span.setAllAttributes(Values.attributes(TimingMappers.otelPhases(soFar)))
                    .setAttribute("onewrite.attempts", soFar.index() + 1L);
        }
    }

    @Override
    public void onRecord(Timing timing) {
        Span span = Span.fromContext(context);
        Map<String, Object> phases = TimingMappers.otelPhases(timing);
        if (span.isRecording()) {
            span.setAllAttributes(Values.attributes(phases));
        }
        // Before the event: who sees it finds its call in the metrics, too.
        metrics.record(timing, server);
        if (logger != null) {
            logger.logRecordBuilder()
                    .setEventName("onewrite.request")
                    .setSeverity(Severity.INFO)
                    .setTimestamp(timing.startedAtUnixNanos() + timing.totalNanos(), TimeUnit.NANOSECONDS)
                    .setContext(context)
                    .setAllAttributes(Values.attributes(TimingMappers.otelAttributes(timing)))
                    .setAllAttributes(Values.attributes(phases))
                    .setBody(Values.value(timing.toMap()))
                    .emit();
        }
    }
}
