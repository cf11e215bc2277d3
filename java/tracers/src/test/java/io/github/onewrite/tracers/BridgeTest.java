package io.github.onewrite.tracers;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.onewrite.opentelemetry.OnewriteOpenTelemetry;
import io.github.onewrite.reactornetty.OnewriteReactorNetty;
import io.github.onewrite.testing.Eventually;
import io.github.onewrite.testing.TestServer;
import io.micrometer.observation.ObservationRegistry;
import io.micrometer.tracing.handler.PropagatingSenderTracingObservationHandler;
import io.micrometer.tracing.otel.bridge.OtelCurrentTraceContext;
import io.micrometer.tracing.otel.bridge.OtelPropagator;
import io.micrometer.tracing.otel.bridge.OtelTracer;
import io.opentelemetry.api.common.AttributeKey;
import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.Tracer;
import io.opentelemetry.api.trace.propagation.W3CTraceContextPropagator;
import io.opentelemetry.context.Context;
import io.opentelemetry.context.propagation.ContextPropagators;
import io.opentelemetry.sdk.OpenTelemetrySdk;
import io.opentelemetry.sdk.testing.exporter.InMemorySpanExporter;
import io.opentelemetry.sdk.trace.SdkTracerProvider;
import io.opentelemetry.sdk.trace.data.SpanData;
import io.opentelemetry.sdk.trace.export.SimpleSpanProcessor;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.springframework.http.client.reactive.ReactorClientHttpConnector;
import org.springframework.web.reactive.function.client.WebClient;
import reactor.core.publisher.Hooks;
import reactor.core.publisher.Mono;
import reactor.netty.http.client.HttpClient;

/** Spans that Micrometer's bridge makes of Spring's observations: the README's two ways to set attributes on them. */
class BridgeTest {
    private final InMemorySpanExporter spans = InMemorySpanExporter.create();
    private final ContextPropagators propagators = ContextPropagators.create(W3CTraceContextPropagator.getInstance());
    private final OpenTelemetrySdk sdk = OpenTelemetrySdk.builder()
            .setTracerProvider(SdkTracerProvider.builder()
                    .addSpanProcessor(SimpleSpanProcessor.create(spans))
                    .build())
            .setPropagators(propagators)
            .build();
    private final Tracer tracer = sdk.getTracer("test");

    private WebClient client() {
        ObservationRegistry observations = ObservationRegistry.create();
        observations
                .observationConfig()
                .observationHandler(new PropagatingSenderTracingObservationHandler<>(
                        new OtelTracer(tracer, new OtelCurrentTraceContext(), event -> {}),
                        new OtelPropagator(propagators, tracer)));
        HttpClient client = OnewriteReactorNetty.create()
                .listenerFactory(OnewriteOpenTelemetry.create(sdk))
                .apply(HttpClient.create());
        return WebClient.builder()
                .observationRegistry(observations)
                .clientConnector(new ReactorClientHttpConnector(client))
                .build();
    }

    private List<SpanData> ended(int count) throws InterruptedException {
        Eventually.until(() -> spans.getFinishedSpanItems().size() >= count);
        return spans.getFinishedSpanItems();
    }

    private static Long waited(SpanData span) {
        return span.getAttributes().get(AttributeKey.longKey("onewrite.wait_ns"));
    }

    private Mono<String> post(TestServer server) {
        return client().post().uri(server.url()).bodyValue("hello").retrieve().bodyToMono(String.class);
    }

    @Test
    void automaticContextPropagation() throws Exception {
        Hooks.enableAutomaticContextPropagation();
        try (TestServer server = TestServer.answering()) {
            assertEquals("ok", post(server).block());
            SpanData span = ended(1).get(0);
            assertTrue(waited(span) > 0, span::toString);
        } finally {
            Hooks.disableAutomaticContextPropagation();
        }
    }

    @Test
    void aContextAsTheTag() throws Exception {
        Span work = tracer.spanBuilder("work").startSpan();
        try (TestServer server = TestServer.answering()) {
            assertEquals(
                    "ok",
                    post(server)
                            .contextWrite(view -> view.put(
                                    OnewriteReactorNetty.TAG, Context.root().with(work)))
                            .block());
            work.end();
            SpanData span = ended(2).stream()
                    .filter(each -> each.getName().equals("work"))
                    .findFirst()
                    .orElseThrow();
            assertTrue(waited(span) > 0, span::toString);
        }
    }
}
