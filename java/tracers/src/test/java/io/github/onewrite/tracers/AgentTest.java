package io.github.onewrite.tracers;

import static io.github.onewrite.testing.SegmentServer.REQUESTS;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import io.github.onewrite.testing.Program;
import io.github.onewrite.testing.SegmentServer;
import io.github.onewrite.testing.TestServer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Programs under OpenTelemetry's Java agent: without onewrite, with onewrite but no hooks, and with its hooks. */
@Tag("agent")
@Timeout(value = 10, unit = TimeUnit.MINUTES)
class AgentTest {
    @TempDir
    Path dir;

    /** The output of a run: the program's results, and the spans and log events that the agent exported. */
    private record Run(List<String> results, List<JsonObject> spans, List<JsonObject> events) {
        /** Names, kinds and status of the spans. */
        List<String> plainSpans() {
            return spans.stream()
                    .map(span -> span.get("name") + " " + span.get("kind") + " " + attribute(span, "error.type") + " "
                            + attribute(span, "http.response.status_code"))
                    .toList();
        }
    }

    private static String attribute(JsonObject of, String name) {
        for (JsonElement each : of.getAsJsonArray("attributes")) {
            if (each.getAsJsonObject().get("key").getAsString().equals(name)) {
                return each.getAsJsonObject()
                        .getAsJsonObject("value")
                        .toString()
                        .replaceAll("[^0-9a-zA-Z_.]|[a-z]+Value", "");
            }
        }
        return "";
    }

    private Run run(String client, String mode, int times, String... urls) throws Exception {
        List<String> arguments = new ArrayList<>(List.of(
                "-javaagent:" + System.getProperty("opentelemetry.agent"),
                // These exporters use the agent's log, so that lines of spans and of events do not mix.
                "-Dotel.traces.exporter=logging-otlp",
                "-Dotel.logs.exporter=logging-otlp",
                "-Dotel.metrics.exporter=none",
                AgentProgram.class.getName(),
                client,
                mode,
                Integer.toString(times)));
        arguments.addAll(List.of(urls));
        Path output = dir.resolve("output");
        Path exported = dir.resolve("exported");
        Program.run(Program.java(output, arguments).redirectErrorStream(false).redirectError(exported.toFile()));
        return parsed(output, exported);
    }

    private static Run parsed(Path output, Path exported) throws Exception {
        Run run = new Run(new ArrayList<>(), new ArrayList<>(), new ArrayList<>());
        for (String line : Files.readAllLines(output)) {
            if (line.startsWith("result ")) {
                run.results.add(line.substring("result ".length()));
            }
        }
        for (String line : Files.readAllLines(exported)) {
            int json = line.indexOf("{\"resource\"");
            if (json >= 0) {
                JsonObject scopes = JsonParser.parseString(line.substring(json)).getAsJsonObject();
                collect(scopes, "scopeSpans", "spans", run.spans);
                collect(scopes, "scopeLogs", "logRecords", run.events);
            }
        }
        return run;
    }

    private static void collect(JsonObject from, String scopes, String items, List<JsonObject> to) {
        if (from.has(scopes)) {
            from.getAsJsonArray(scopes).forEach(scope -> scope.getAsJsonObject()
                    .getAsJsonArray(items)
                    .forEach(each -> to.add(each.getAsJsonObject())));
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"okhttp", "reactor", "ahc", "netty"})
    void spansAreAsStock(String client) throws Exception {
        List<Run> runs = new ArrayList<>();
        List<List<String>> heads = new ArrayList<>();
        for (String mode : List.of("stock", "off", "on")) {
            try (TestServer server = TestServer.answering(TestServer.OK);
                    TestServer closing = new TestServer(TestServer.Connection::read)) {
                Run run = run(client, mode, 2, server.url(), closing.url());
                runs.add(run);
                heads.add(server.requests().stream()
                        .map(request -> request.head()
                                .replaceAll("127.0.0.1:[0-9]+", "HERE")
                                .replaceAll("[0-9a-f]{16,32}", "ID"))
                        .toList());
                assertTrue(heads.get(0).get(0).matches("(?s).*traceparent: 00-ID-ID-0[0-9].*"), heads::toString);
            }
        }
        Run stock = runs.get(0);
        assertEquals(4, stock.spans.size(), stock::toString);
        for (int i = 1; i < runs.size(); i++) {
            assertEquals(stock.results, runs.get(i).results);
            assertEquals(stock.plainSpans(), runs.get(i).plainSpans());
            assertEquals(heads.get(0), heads.get(i));
        }
        assertEquals(0, runs.get(1).events.size());
        Run on = runs.get(2);
        // AsyncHttpClient sends each failed call five times more, and each exchange is a record.
        assertEquals(client.equals("ahc") ? 14 : 4, on.events.size(), on::toString);
        for (int i = 0; i < 2; i++) {
            JsonObject span = on.spans.get(i);
            assertFalse(attribute(span, "onewrite.wait_ns").isEmpty(), span::toString);
            // True or false: a sequential caller of Reactor Netty may open a second connection.
            assertFalse(attribute(span, "onewrite.reused").isEmpty(), span::toString);
            // Events of different event loops may come in either order.
            JsonObject event = on.events.stream()
                    .filter(each -> span.get("spanId").equals(each.get("spanId")))
                    .findFirst()
                    .orElseThrow(() -> new AssertionError("no event has the context of " + span + ": " + on.events));
            assertEquals("onewrite.request", event.get("eventName").getAsString());
            assertEquals(span.get("traceId"), event.get("traceId"));
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"okhttp", "reactor", "ahc", "netty"})
    void oneSegment(String client) throws Exception {
        try (SegmentServer server = new SegmentServer()) {
            Run run = run(client, "on", REQUESTS, server.url());
            assertEquals(REQUESTS, run.results.size());
            assertEquals(REQUESTS, run.spans.size());
            assertEquals(1, server.mode(), server.segments()::toString);
        }
    }
}
