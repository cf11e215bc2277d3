package io.github.onewrite.tracers;

import static io.github.onewrite.testing.SegmentServer.REQUESTS;
import static org.junit.jupiter.api.Assertions.assertEquals;
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
@Tag("nightly")
@Timeout(value = 10, unit = TimeUnit.MINUTES)
class AgentTest {
    @TempDir
    Path dir;

    /** The output of a run: the program's results, and the spans that the agent exported. */
    private record Run(List<String> results, List<JsonObject> spans) {
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
                "-Dotel.traces.exporter=logging-otlp",
                "-Dotel.logs.exporter=none",
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
        Run run = new Run(new ArrayList<>(), new ArrayList<>());
        for (String line : Files.readAllLines(output)) {
            if (line.startsWith("result ")) {
                run.results.add(line.substring("result ".length()));
            }
        }
        for (String line : Files.readAllLines(exported)) {
            int json = line.indexOf("{\"resource\"");
            if (json >= 0) {
                JsonObject scopes = JsonParser.parseString(line.substring(json)).getAsJsonObject();
                scopes.getAsJsonArray("scopeSpans").forEach(scope -> scope.getAsJsonObject()
                        .getAsJsonArray("spans")
                        .forEach(each -> run.spans.add(each.getAsJsonObject())));
            }
        }
        return run;
    }

    @ParameterizedTest
    @ValueSource(strings = {"okhttp", "reactor"})
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
    }

    @ParameterizedTest
    @ValueSource(strings = {"okhttp", "reactor"})
    void oneSegment(String client) throws Exception {
        try (SegmentServer server = new SegmentServer()) {
            Run run = run(client, "on", REQUESTS, server.url());
            assertEquals(REQUESTS, run.results.size());
            assertEquals(REQUESTS, run.spans.size());
            assertEquals(1, server.mode(), server.segments()::toString);
        }
    }
}
