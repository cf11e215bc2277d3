package io.github.onewrite.bench;

import io.github.onewrite.Timing;
import io.github.onewrite.TimingOptions;
import io.opentelemetry.sdk.OpenTelemetrySdk;
import io.opentelemetry.sdk.metrics.SdkMeterProvider;
import io.opentelemetry.sdk.testing.exporter.InMemoryMetricReader;
import io.opentelemetry.sdk.trace.SdkTracerProvider;
import io.opentelemetry.sdk.trace.export.BatchSpanProcessor;
import io.opentelemetry.sdk.trace.export.SpanExporter;

/** The base library alone, twice, and with additions. {@link #stockAgain} shows the noise of the method. */
public enum Variant {
    stock,
    stockAgain,
    onewrite,
    onTiming,
    openTelemetry;

    /** Written by hooks, so that the compiler cannot drop a record. */
    static volatile Timing seen;

    boolean isOnewrite() {
        return this == onewrite || this == onTiming;
    }

    /** Sets the hook where this variant has one. */
    <T extends TimingOptions<T>> T hooked(T options) {
        return this == onTiming ? options.onTiming(record -> seen = record) : options;
    }

    /** An SDK with a span processor and a meter as in production, which exports nothing. */
    static OpenTelemetrySdk sdk() {
        return OpenTelemetrySdk.builder()
                .setTracerProvider(SdkTracerProvider.builder()
                        .addSpanProcessor(BatchSpanProcessor.builder(SpanExporter.composite())
                                .build())
                        .build())
                .setMeterProvider(SdkMeterProvider.builder()
                        .registerMetricReader(InMemoryMetricReader.create())
                        .build())
                .build();
    }
}
