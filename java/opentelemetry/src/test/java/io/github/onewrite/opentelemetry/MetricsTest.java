package io.github.onewrite.opentelemetry;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.onewrite.okhttp.OnewriteOkHttp;
import io.github.onewrite.testing.TestServer;
import io.opentelemetry.api.common.AttributeKey;
import io.opentelemetry.sdk.metrics.data.HistogramPointData;
import io.opentelemetry.sdk.metrics.data.MetricData;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import okhttp3.OkHttpClient;
import okhttp3.Request;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Names, attributes, buckets and sums of the metrics. */
class MetricsTest {
    private static final AttributeKey<Boolean> REUSED = AttributeKey.booleanKey("onewrite.reused");
    private final Sdk sdk = new Sdk();

    static Stream<Arguments> clients() {
        return Stream.of(
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
                    Set.of("onewrite.requests", "onewrite.wait.duration"),
                    sdk.metrics().keySet());
            String contract = Files.readString(Path.of("..", "..", "spec", "events.yaml"));
            for (MetricData metric : sdk.metrics().values()) {
                String text = contract.substring(contract.indexOf("- name: " + metric.getName()));
                assertEquals(
                        text.lines().skip(1).findFirst().orElseThrow().strip(),
                        "description: " + metric.getDescription());
            }
            Map<String, Object> where = Map.of(
                    "http.request.method", "POST", "server.address", "127.0.0.1", "server.port", (long) server.port());
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
            assertEquals("s", sdk.metrics().get("onewrite.wait.duration").getUnit());
            assertEquals(1, sdk.sum("onewrite.requests", REUSED, false));
            assertEquals(2, sdk.sum("onewrite.requests", REUSED, true));
        }
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("clients")
    void aFailedWaitCounts(String name, Caller.Maker maker) throws Exception {
        try (TestServer server = new TestServer(TestServer.Connection::read);
                Caller caller = maker.make(null, OnewriteOpenTelemetry.create(sdk.api()))) {
            assertThrows(Exception.class, () -> caller.post(server.url()));
            sdk.events(1);
            assertTrue(sdk.sum("onewrite.requests", REUSED, false) >= 1);
            assertTrue(only(sdk.histogram("onewrite.wait.duration")).getCount() >= 1);
        }
    }

    @Test
    void aMethodThatNobodyKnows() throws Exception {
        try (TestServer server = TestServer.answering()) {
            OkHttpClient client = OnewriteOkHttp.create()
                    .listenerFactory(OnewriteOpenTelemetry.create(sdk.api()))
                    .apply(new OkHttpClient.Builder())
                    .build();
            client.newCall(new Request.Builder()
                            .url(server.url())
                            .method("BREW", null)
                            .build())
                    .execute()
                    .close();
            sdk.events(1);
            assertEquals(
                    "_OTHER",
                    only(sdk.histogram("onewrite.wait.duration"))
                            .getAttributes()
                            .get(AttributeKey.stringKey("http.request.method")));
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
