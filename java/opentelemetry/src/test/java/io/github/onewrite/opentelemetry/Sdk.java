package io.github.onewrite.opentelemetry;

import io.github.onewrite.testing.Eventually;
import io.opentelemetry.api.common.AttributeKey;
import io.opentelemetry.api.common.Attributes;
import io.opentelemetry.api.trace.propagation.W3CTraceContextPropagator;
import io.opentelemetry.context.propagation.ContextPropagators;
import io.opentelemetry.sdk.OpenTelemetrySdk;
import io.opentelemetry.sdk.logs.SdkLoggerProvider;
import io.opentelemetry.sdk.logs.data.LogRecordData;
import io.opentelemetry.sdk.logs.export.SimpleLogRecordProcessor;
import io.opentelemetry.sdk.metrics.SdkMeterProvider;
import io.opentelemetry.sdk.metrics.data.HistogramPointData;
import io.opentelemetry.sdk.metrics.data.LongPointData;
import io.opentelemetry.sdk.metrics.data.MetricData;
import io.opentelemetry.sdk.testing.exporter.InMemoryLogRecordExporter;
import io.opentelemetry.sdk.testing.exporter.InMemoryMetricReader;
import io.opentelemetry.sdk.testing.exporter.InMemorySpanExporter;
import io.opentelemetry.sdk.trace.SdkTracerProvider;
import io.opentelemetry.sdk.trace.data.SpanData;
import io.opentelemetry.sdk.trace.export.SimpleSpanProcessor;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** OpenTelemetry's SDK with exporters that keep everything in memory. */
final class Sdk implements AutoCloseable {
    private final InMemorySpanExporter spans = InMemorySpanExporter.create();
    private final InMemoryLogRecordExporter logs = InMemoryLogRecordExporter.create();
    private final InMemoryMetricReader metrics = InMemoryMetricReader.create();
    private final OpenTelemetrySdk sdk = OpenTelemetrySdk.builder()
            .setTracerProvider(SdkTracerProvider.builder()
                    .addSpanProcessor(SimpleSpanProcessor.create(spans))
                    .build())
            .setLoggerProvider(SdkLoggerProvider.builder()
                    .addLogRecordProcessor(SimpleLogRecordProcessor.create(logs))
                    .build())
            .setMeterProvider(
                    SdkMeterProvider.builder().registerMetricReader(metrics).build())
            .setPropagators(ContextPropagators.create(W3CTraceContextPropagator.getInstance()))
            .build();

    OpenTelemetrySdk api() {
        return sdk;
    }

    /** Waits for this many ended spans, and returns them. */
    List<SpanData> spans(int count) throws InterruptedException {
        Eventually.until(() -> spans.getFinishedSpanItems().size() >= count);
        return spans.getFinishedSpanItems();
    }

    /** Waits for this many log events, and returns them. */
    List<LogRecordData> events(int count) throws InterruptedException {
        Eventually.until(() -> logs.getFinishedLogRecordItems().size() >= count);
        return logs.getFinishedLogRecordItems();
    }

    /** The metrics of onewrite's scope, by name. */
    Map<String, MetricData> metrics() {
        Map<String, MetricData> found = new TreeMap<>();
        for (MetricData each : metrics.collectAllMetrics()) {
            if (each.getInstrumentationScopeInfo().getName().equals("onewrite")) {
                found.put(each.getName(), each);
            }
        }
        return found;
    }

    Collection<HistogramPointData> histogram(String name) {
        return metrics().get(name).getHistogramData().getPoints();
    }

    /** The sum of a counter over the points that have this attribute. */
    <T> long sum(String name, AttributeKey<T> key, T value) {
        MetricData metric = metrics().get(name);
        return metric == null
                ? 0
                : metric.getLongSumData().getPoints().stream()
                        .filter(point -> value.equals(point.getAttributes().get(key)))
                        .mapToLong(LongPointData::getValue)
                        .sum();
    }

    static Map<String, Object> sorted(Attributes attributes) {
        Map<String, Object> found = new TreeMap<>();
        attributes.forEach((key, value) -> found.put(key.getKey(), value));
        return found;
    }

    @Override
    public void close() {
        sdk.close();
    }
}
