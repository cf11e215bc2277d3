package io.github.onewrite.opentelemetry;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.onewrite.testing.Program;
import io.github.onewrite.testing.TestServer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Runs the README's recipe for OpenTelemetry unchanged. */
class ReadmeTest {
    private static final String PROGRAM = """
            import io.github.onewrite.okhttp.OnewriteOkHttp;
            import io.github.onewrite.opentelemetry.OnewriteOpenTelemetry;
            import io.opentelemetry.sdk.OpenTelemetrySdk;
            import io.opentelemetry.sdk.metrics.SdkMeterProvider;
            import io.opentelemetry.sdk.testing.exporter.InMemoryMetricReader;
            import okhttp3.OkHttpClient;
            import okhttp3.Request;

            class Program {
                public static void main(String[] args) throws Exception {
                    var reader = InMemoryMetricReader.create();
                    var openTelemetry = OpenTelemetrySdk.builder()
                            .setMeterProvider(SdkMeterProvider.builder().registerMetricReader(reader).build())
                            .build();
                    RECIPE
                    client.newCall(new Request.Builder().url(args[0]).build()).execute().close();
                    reader.collectAllMetrics().forEach(metric -> System.out.println("metric " + metric.getName()));
                }
            }
            """;

    @Test
    void theRecipe(@TempDir Path dir) throws Exception {
        Path source = Files.writeString(
                dir.resolve("Program.java"), PROGRAM.replace("RECIPE", Program.readmeCode("\n### OpenTelemetry\n")));
        Path output = dir.resolve("output");
        try (TestServer server = TestServer.answering()) {
            Program.run(Program.java(output, List.of(source.toString(), server.url())));
            String text = Files.readString(output);
            assertTrue(text.contains("metric onewrite.requests"), text);
            assertTrue(text.contains("metric onewrite.wait.duration"), text);
        }
    }
}
