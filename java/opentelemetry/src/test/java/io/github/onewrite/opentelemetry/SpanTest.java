package io.github.onewrite.opentelemetry;

import static io.github.onewrite.testing.SegmentServer.REQUESTS;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import io.github.onewrite.okhttp.OnewriteOkHttp;
import io.github.onewrite.testing.SegmentServer;
import io.github.onewrite.testing.TestServer;
import io.opentelemetry.api.OpenTelemetry;
import io.opentelemetry.api.common.AttributeKey;
import io.opentelemetry.api.common.KeyValue;
import io.opentelemetry.api.logs.Severity;
import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.SpanKind;
import io.opentelemetry.context.Context;
import io.opentelemetry.context.Scope;
import io.opentelemetry.sdk.logs.data.LogRecordData;
import io.opentelemetry.sdk.trace.data.SpanData;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import okhttp3.OkHttpClient;
import okhttp3.Request;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** The attributes on spans of OpenTelemetry's instrumentations, and the log event of each call. */
class SpanTest {
    private final Sdk sdk = new Sdk();

    static Stream<Arguments> instrumented() {
        return Stream.of(
                Caller.named("OkHttp", Caller::okHttp),
                Caller.named("Reactor Netty", Caller::reactor),
                Caller.named("Reactor Netty, tracer added last", Caller::reactorReversed),
                Caller.named("AsyncHttpClient", Caller::ahc));
    }

    private OnewriteOpenTelemetry onewrite() {
        return OnewriteOpenTelemetry.create(sdk.api());
    }

    private static Long number(SpanData span, String name) {
        return span.getAttributes().get(AttributeKey.longKey("onewrite." + name));
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("instrumented")
    void theClientsSpanGetsThePhases(String name, Caller.Maker maker) throws Exception {
        try (TestServer server = TestServer.answering(TestServer.OK);
                Caller caller = maker.make(sdk, onewrite())) {
            for (int i = 0; i < 3; i++) {
                assertEquals(200, caller.post(server.url()));
                sdk.spans(i + 1);
                sdk.events(i + 1);
            }
            List<SpanData> spans = sdk.spans(3);
            assertEquals(3, spans.size());
            for (SpanData span : spans) {
                assertEquals(SpanKind.CLIENT, span.getKind());
                assertTrue(number(span, "wait_ns") > 0, span::toString);
                assertTrue(number(span, "send_ns") >= 0);
                assertEquals(1, number(span, "attempts"));
                assertEquals(0, span.getTotalRecordedEvents());
            }
            assertEquals(Boolean.FALSE, spans.get(0).getAttributes().get(AttributeKey.booleanKey("onewrite.reused")));
            assertEquals(Boolean.TRUE, spans.get(2).getAttributes().get(AttributeKey.booleanKey("onewrite.reused")));
            // The channel alone shows when a request of AsyncHttpClient begins.
            assertTrue(name.equals("AsyncHttpClient") || number(spans.get(0), "connect_ns") > 0);
            assertEquals(null, number(spans.get(2), "connect_ns"));
            assertEquals(3, number(spans.get(2), "conn_requests"));
            assertEquals(
                    spans.stream().map(SpanData::getSpanId).toList(),
                    sdk.events(3).stream()
                            .map(event -> event.getSpanContext().getSpanId())
                            .toList());
            // The traceparent header that the server received belongs to this span.
            for (int i = 0; i < 3; i++) {
                String header = server.requests().get(i).header("traceparent");
                assertTrue(header.contains(spans.get(i).getSpanId()), header);
            }
        }
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("instrumented")
    void theLogEventHasTheWholeRecord(String name, Caller.Maker maker) throws Exception {
        try (TestServer server = TestServer.answering(TestServer.OK);
                Caller caller = maker.make(sdk, onewrite())) {
            assertEquals(200, caller.post(server.url()));
            LogRecordData event = sdk.events(1).get(0);
            assertEquals("onewrite.request", event.getEventName());
            assertEquals(Severity.INFO, event.getSeverity());
            assertEquals("onewrite", event.getInstrumentationScopeInfo().getName());
            Map<String, Object> attributes = Sdk.sorted(event.getAttributes());
            assertEquals("POST", attributes.get("http.request.method"));
            assertEquals(200L, attributes.get("http.response.status_code"));
            assertEquals(server.url(), attributes.get("url.full"));
            assertTrue((Long) attributes.get("onewrite.total_ns") > (Long) attributes.get("onewrite.wait_ns"));
            assertTrue(attributes.containsKey("onewrite.receive_ns"));
            @SuppressWarnings("unchecked")
            List<KeyValue> body = (List<KeyValue>) event.getBodyValue().getValue();
            Set<String> keys = Set.copyOf(body.stream().map(KeyValue::getKey).toList());
            assertTrue(
                    keys.containsAll(Set.of("method", "started_at_unix_ns", "attempts", "wait_ns")), keys.toString());
        }
    }

    /** Without an instrumentation the attributes go to the span around the call, except on AsyncHttpClient's event loop. */
    @ParameterizedTest(name = "{0}")
    @MethodSource("instrumented")
    void theSpanAroundTheCall(String name, Caller.Maker maker) throws Exception {
        assumeFalse(name.equals("AsyncHttpClient"));
        try (TestServer server = TestServer.answering();
                Caller caller = maker.make(name.contains("last") ? new Sdk() : null, onewrite())) {
            Span span = sdk.api().getTracer("test").spanBuilder("work").startSpan();
            try (Scope here = span.makeCurrent()) {
                assertEquals(200, caller.post(server.url()));
            }
            LogRecordData event = sdk.events(1).get(0);
            span.end();
            assertEquals(
                    span.getSpanContext().getSpanId(), event.getSpanContext().getSpanId());
            assertEquals(
                    span.getSpanContext().getTraceId(), event.getSpanContext().getTraceId());
            if (!name.contains("last")) {
                SpanData ended = sdk.spans(1).get(0);
                // This span is still open at the end of the call.
                assertTrue(number(ended, "total_ns") > number(ended, "wait_ns"));
                assertTrue(number(ended, "receive_ns") >= 0);
            }
        }
    }

    @Test
    void aContextGivenAsTheTagIsTheCalls() throws Exception {
        Span span = sdk.api().getTracer("test").spanBuilder("work").startSpan();
        try (TestServer server = TestServer.answering()) {
            OkHttpClient client = OnewriteOkHttp.create()
                    .listenerFactory(onewrite())
                    .apply(new OkHttpClient.Builder())
                    .build();
            client.newCall(new Request.Builder()
                            .url(server.url())
                            .tag(Object.class, Context.root().with(span))
                            .build())
                    .execute()
                    .close();
        }
        assertEquals(
                span.getSpanContext().getSpanId(),
                sdk.events(1).get(0).getSpanContext().getSpanId());
    }

    /** A span that is not sampled, or has ended, gets no attributes; the log event still has its context. */
    @Test
    void aSpanThatDoesNotRecord() throws Exception {
        Span span = sdk.api().getTracer("test").spanBuilder("over").startSpan();
        span.end();
        try (TestServer server = TestServer.answering();
                Caller caller = Caller.okHttp(null, onewrite());
                Scope here = span.makeCurrent()) {
            assertEquals(200, caller.post(server.url()));
            assertEquals(
                    span.getSpanContext().getSpanId(),
                    sdk.events(1).get(0).getSpanContext().getSpanId());
        }
        assertEquals(Map.of(), Sdk.sorted(sdk.spans(1).get(0).getAttributes()));
    }

    /**
     * The server reads the request and closes: the span has the phases until then. OpenTelemetry's instrumentation of
     * Netty never ends such a span, with or without onewrite.
     */
    @ParameterizedTest(name = "{0}")
    @MethodSource("instrumented")
    void aCallThatFails(String name, Caller.Maker maker) throws Exception {
        try (TestServer server = new TestServer(TestServer.Connection::read);
                Caller caller = maker.make(sdk, onewrite())) {
            assertThrows(Exception.class, () -> caller.post(server.url()));
            LogRecordData event = sdk.events(1).get(0);
            assertEquals("closed", event.getAttributes().get(AttributeKey.stringKey("error.type")));
            if (!name.equals("OkHttp")) {
                return;
            }
            SpanData span = sdk.spans(1).get(0);
            assertTrue(number(span, "send_ns") >= 0, span::toString);
            assertTrue(number(span, "connect_ns") > 0, span::toString);
            assertEquals(null, number(span, "wait_ns"));
        }
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("instrumented")
    @EnabledOnOs(OS.LINUX)
    void oneSegment(String name, Caller.Maker maker) throws Exception {
        try (SegmentServer server = new SegmentServer();
                Caller caller = maker.make(sdk, onewrite())) {
            for (int i = 0; i < REQUESTS; i++) {
                assertEquals(200, caller.post(server.url()));
            }
            assertEquals(REQUESTS, server.segments().size());
            assertEquals(1, server.mode(), server.segments()::toString);
            assertEquals(REQUESTS, sdk.events(REQUESTS).size());
            assertEquals(REQUESTS, sdk.spans(REQUESTS).size());
        }
    }

    @Test
    void withoutAnSdkNothingIsRecordedAndNothingBreaks() throws Exception {
        try (TestServer server = TestServer.answering();
                Caller caller = Caller.ahc(null, OnewriteOpenTelemetry.create(OpenTelemetry.noop()))) {
            assertEquals(200, caller.post(server.url()));
        }
    }
}
