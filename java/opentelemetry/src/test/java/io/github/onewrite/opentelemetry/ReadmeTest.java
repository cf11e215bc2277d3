package io.github.onewrite.opentelemetry;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.onewrite.testing.TestServer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The line that the README shows for OpenTelemetry, run as it stands. */
class ReadmeTest {
    private static final String PROGRAM = """
            import io.github.onewrite.okhttp.OnewriteOkHttp;
            import io.github.onewrite.opentelemetry.OnewriteOpenTelemetry;
            import io.opentelemetry.sdk.OpenTelemetrySdk;
            import io.opentelemetry.sdk.logs.SdkLoggerProvider;
            import io.opentelemetry.sdk.logs.export.SimpleLogRecordProcessor;
            import io.opentelemetry.sdk.testing.exporter.InMemoryLogRecordExporter;
            import okhttp3.OkHttpClient;
            import okhttp3.Request;

            class Program {
                public static void main(String[] args) throws Exception {
                    var logs = InMemoryLogRecordExporter.create();
                    var openTelemetry = OpenTelemetrySdk.builder()
                            .setLoggerProvider(SdkLoggerProvider.builder()
                                    .addLogRecordProcessor(SimpleLogRecordProcessor.create(logs)).build())
                            .build();
                    RECIPE
                    client.newCall(new Request.Builder().url(args[0]).build()).execute().close();
                    var event = logs.getFinishedLogRecordItems().get(0);
                    System.out.println("event " + event.getEventName() + " " + event.getAttributes());
                }
            }
            """;

    @Test
    void theLine(@TempDir Path dir) throws Exception {
        String readme = Files.readString(Path.of("..", "README.md"));
        int from = readme.indexOf("```java\n", readme.indexOf("\n### OpenTelemetry\n")) + "```java\n".length();
        Path source = Files.writeString(
                dir.resolve("Program.java"),
                PROGRAM.replace("RECIPE", readme.substring(from, readme.indexOf("```", from))));
        Path output = dir.resolve("output");
        try (TestServer server = TestServer.answering()) {
            Process process = new ProcessBuilder(
                            Path.of(System.getProperty("java.home"), "bin", "java")
                                    .toString(),
                            "-cp",
                            System.getProperty("java.class.path"),
                            source.toString(),
                            server.url())
                    .redirectErrorStream(true)
                    .redirectOutput(output.toFile())
                    .start();
            try {
                assertTrue(process.waitFor(80, TimeUnit.SECONDS), "not over in 80 s");
            } finally {
                process.destroyForcibly();
            }
            String text = Files.readString(output);
            assertEquals(0, process.exitValue(), text);
            assertTrue(text.contains("event onewrite.request"), text);
            assertTrue(text.contains("onewrite.wait_ns"), text);
        }
    }
}
