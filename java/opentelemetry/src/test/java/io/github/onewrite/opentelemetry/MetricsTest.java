package io.github.onewrite.opentelemetry;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.onewrite.client.OnewriteClient;
import io.github.onewrite.client.Request;
import io.github.onewrite.testing.Eventually;
import io.github.onewrite.testing.TestServer;
import io.opentelemetry.api.common.AttributeKey;
import io.opentelemetry.sdk.metrics.data.HistogramPointData;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Names, attributes, buckets and sums of the metrics. */
class MetricsTest {
    private static final AttributeKey<Boolean> REUSED = AttributeKey.booleanKey("onewrite.reused");
    private static final AttributeKey<String> ERROR = AttributeKey.stringKey("error.type");
    private final Sdk sdk = new Sdk();

    static Stream<Arguments> clients() {
        return Stream.of(
                Caller.named("onewrite", Caller::netty),
                Caller.named("OkHttp", Caller::okHttp),
                Caller.named("Reactor Netty", Caller::reactor),
                Caller.named("AsyncHttpClient", Caller::ahc));
    }

    private static HistogramPointData only(java.util.Collection<HistogramPointData> points) {
        assertEquals(1, points.size(), points::toString);
        return points.iterator().next();
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("clients")
    void callsAndWaits(String name, Caller.Maker maker) throws Exception {
        try (TestServer server = TestServer.answering();
                Caller caller = maker.make(null, OnewriteOpenTelemetry.create(sdk.api()))) {
            for (int i = 0; i < 3; i++) {
                assertEquals(200, caller.post(server.url()));
                sdk.events(i + 1);
            }
            assertEquals(
                    Set.of(
                            "http.client.request.duration",
                            "http.client.open_connections",
                            "onewrite.requests",
                            "onewrite.wait.duration"),
                    sdk.metrics().keySet());
            Map<String, Object> where = Map.of(
                    "http.request.method", "POST", "server.address", "127.0.0.1", "server.port", (long) server.port());
            HistogramPointData duration = only(sdk.histogram("http.client.request.duration"));
            assertEquals(3, duration.getCount());
            Map<String, Object> answered = new java.util.TreeMap<>(where);
            answered.put("http.response.status_code", 200L);
            assertEquals(answered, Sdk.sorted(duration.getAttributes()));
            // On a busy machine a wait may be longer than 20 ms: then it has a cause, and so a data point of its own.
            java.util.Collection<HistogramPointData> waits = sdk.histogram("onewrite.wait.duration");
            for (HistogramPointData wait : waits) {
                Map<String, Object> named = new java.util.TreeMap<>(Sdk.sorted(wait.getAttributes()));
                named.remove("onewrite.cause");
                assertEquals(new java.util.TreeMap<>(where), named);
                assertTrue(wait.getBoundaries().contains(0.035), wait.getBoundaries()::toString);
            }
            assertEquals(
                    3, waits.stream().mapToLong(HistogramPointData::getCount).sum());
            assertTrue(waits.stream().mapToDouble(HistogramPointData::getSum).sum() <= duration.getSum());
            assertEquals("s", sdk.metrics().get("onewrite.wait.duration").getUnit());
            assertEquals(1, sdk.sum("onewrite.requests", REUSED, false));
            assertEquals(2, sdk.sum("onewrite.requests", REUSED, true));
        }
    }

    /** Opened, reused, closed by the server, opened again, closed by the client: all counters return to 0. */
    @ParameterizedTest(name = "{0}")
    @MethodSource("clients")
    void everyConnectionIsTakenAwayAgain(String name, Caller.Maker maker) throws Exception {
        try (TestServer server = new TestServer(connection -> {
            for (int i = 0; i < 2; i++) {
                connection.read();
                connection.send(TestServer.OK);
            }
            if (connection.number() > 1) {
                connection.drain();
            }
        })) {
            try (Caller caller = maker.make(null, OnewriteOpenTelemetry.create(sdk.api()))) {
                assertEquals(200, caller.post(server.url()));
                Eventually.until(() -> sdk.connections("idle") == 1);
                assertEquals(0, sdk.connections("active"));
                assertFalse(sdk.metrics().containsKey("http.client.connection.duration"));
                assertEquals(200, caller.post(server.url()));
                sdk.events(2);
                Eventually.until(
                        () -> server.closed() == 1 && (!name.equals("onewrite") || sdk.connections("idle") == 0));
                // The others may notice the close only when they are about to reuse the connection: OkHttp does always.
                for (int i = 0; i < 100 && sdk.connections("idle") != 0; i++) {
                    Thread.sleep(1);
                }
                assertEquals(200, caller.post(server.url()));
                sdk.events(3);
                Eventually.until(() -> sdk.connections("idle") == 1 && sdk.connections("active") == 0);
                HistogramPointData first = only(sdk.histogram("http.client.connection.duration"));
                assertEquals(1, first.getCount());
                assertTrue(first.getSum() > 0 && first.getSum() < 60, () -> "lasted " + first.getSum());
            }
            Eventually.until(() -> sdk.connections("idle") == 0);
            assertEquals(0, sdk.connections("active"));
            HistogramPointData both = only(sdk.histogram("http.client.connection.duration"));
            assertEquals(2, both.getCount());
            assertEquals(
                    Map.of("server.address", "127.0.0.1", "server.port", (long) server.port()),
                    Sdk.sorted(both.getAttributes()));
        }
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("clients")
    void failuresAreCountedByTheirKind(String name, Caller.Maker maker) throws Exception {
        try (TestServer server = new TestServer(TestServer.Connection::read);
                Caller caller = maker.make(null, OnewriteOpenTelemetry.create(sdk.api()))) {
            assertThrows(Exception.class, () -> caller.post(server.url()));
            sdk.events(1);
            Eventually.until(() -> sdk.metrics().containsKey("http.client.connection.duration"));
            assertEquals(
                    "closed",
                    only(sdk.histogram("http.client.request.duration"))
                            .getAttributes()
                            .get(ERROR));
            assertFalse(sdk.metrics().containsKey("onewrite.wait.duration"), "nothing was waited for to its end");
            Eventually.until(() -> sdk.connections("idle") == 0 && sdk.connections("active") == 0);
        }
    }

    @Test
    void whatIsMeasuredElsewhereCanBeLeftOut() throws Exception {
        OnewriteOpenTelemetry onewrite =
                OnewriteOpenTelemetry.builder(sdk.api()).requestDuration(false).build();
        try (TestServer server = TestServer.answering();
                Caller caller = Caller.netty(null, onewrite)) {
            assertEquals(200, caller.post(server.url()));
            sdk.events(1);
            Eventually.until(() -> sdk.metrics().containsKey("onewrite.requests"));
            assertFalse(sdk.metrics().containsKey("http.client.request.duration"));
        }
    }

    @Test
    void aMethodThatNobodyKnows() throws Exception {
        try (TestServer server = TestServer.answering();
                OnewriteClient client = OnewriteClient.builder()
                        .listenerFactory(OnewriteOpenTelemetry.create(sdk.api()))
                        .build()) {
            client.execute(Request.method("BREW", server.url()));
            sdk.events(1);
            Eventually.until(() -> sdk.metrics().containsKey("onewrite.requests"));
            for (String name : List.of("http.client.request.duration", "onewrite.wait.duration")) {
                assertEquals(
                        "_OTHER",
                        only(sdk.histogram(name)).getAttributes().get(AttributeKey.stringKey("http.request.method")));
            }
        }
    }

    @Test
    void theMethodsAreThoseOfTheContract() throws Exception {
        String events = Files.readString(Path.of("..", "..", "spec", "events.yaml"));
        Matcher line =
                Pattern.compile("^  methods: \\[(.*)]", Pattern.MULTILINE).matcher(events);
        assertTrue(line.find());
        assertEquals(Set.of(line.group(1).split(", ")), CallMetrics.METHODS);
    }
}
