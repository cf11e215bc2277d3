package io.github.onewrite.opentelemetry;

import io.github.onewrite.Attempt;
import io.github.onewrite.RecordListener;
import io.github.onewrite.Timing;
import io.github.onewrite.TimingMappers;
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
    private final @Nullable Logger logger;
    private final CallMetrics metrics;
    private Context context;

    CallListener(Context context, @Nullable Logger logger, CallMetrics metrics) {
        this.context = context;
        this.logger = logger;
        this.metrics = metrics;
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
        Map<String, Object> call = TimingMappers.otelAttributes(timing);
        if (span.isRecording()) {
            span.setAllAttributes(Values.attributes(phases));
        }
        // Before the event: who sees it finds its call in the metrics, too.
        metrics.record(timing, call);
        if (logger != null) {
            logger.logRecordBuilder()
                    .setEventName("onewrite.request")
                    .setSeverity(Severity.INFO)
                    .setTimestamp(timing.startedAtUnixNanos() + timing.totalNanos(), TimeUnit.NANOSECONDS)
                    .setContext(context)
                    .setAllAttributes(Values.attributes(call))
                    .setAllAttributes(Values.attributes(phases))
                    .setBody(Values.value(timing.toMap()))
                    .emit();
        }
    }
}
