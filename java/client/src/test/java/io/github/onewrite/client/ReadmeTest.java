package io.github.onewrite.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.onewrite.testing.Program;
import io.github.onewrite.testing.TestServer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Runs the README's first example and recipes, and the programs of examples/, unchanged. */
class ReadmeTest {
    private static final Path EXAMPLES = Path.of("..", "examples");

    @Test
    void quickStart(@TempDir Path dir) throws Exception {
        Path source = Files.writeString(dir.resolve("Example.java"), Program.readmeCode("\n## Switch on\n"));
        try (TestServer server = TestServer.answering()) {
            String output = run(dir, server, source.toString());
            assertTrue(output.contains("200 ok"), output);
            assertTrue(output.contains("POST " + server.url() + " 200 in "), output);
            assertEquals("hello", new String(server.requests().get(0).body(), StandardCharsets.UTF_8));
        }
    }

    @Test
    void example(@TempDir Path dir) throws Exception {
        try (TestServer server = TestServer.answering()) {
            String output = run(dir, server, EXAMPLES.resolve("TimedPost.java").toString(), server.url());
            assertEquals(3, server.requests().size());
            assertTrue(output.contains("reused conn 1"), output);
        }
    }

    /** The service forwards an order to the upstream, prints the call's timing, and answers 502 if the upstream closes. */
    @Test
    void service(@TempDir Path dir) throws Exception {
        Path output = dir.resolve("output");
        ProcessBuilder builder = Program.java(
                output, List.of(EXAMPLES.resolve("OrderService.java").toString()));
        try (TestServer server = TestServer.closingAt(2);
                OnewriteClient client = OnewriteClient.create()) {
            builder.environment().put("UPSTREAM", server.url());
            builder.environment().put("PORT", "0");
            Process process = builder.start();
            try {
                String orders = printed(process, output, "listening on ");
                Response stored = client.execute(Request.post(orders, Body.of("{\"item\": \"tea\"}"))
                        .timeout(Duration.ofSeconds(60))
                        .build());
                assertEquals("200 ok", stored.status() + " " + stored.text());
                assertEquals(
                        "{\"item\": \"tea\"}",
                        new String(server.requests().get(0).body(), StandardCharsets.UTF_8));
                assertTrue(printed(process, output, "POST " + server.url()).startsWith("200 in "));
                Response refused = client.execute(Request.post(orders, Body.of("{}"))
                        .timeout(Duration.ofSeconds(60))
                        .build());
                assertEquals(502, refused.status());
                assertTrue(refused.text().startsWith("{\"error\": "), refused.text());
            } finally {
                process.destroyForcibly().waitFor();
            }
        }
    }

    /** Waits for a line with these words, and returns the rest of it. */
    private static String printed(Process process, Path output, String words) throws Exception {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(80);
        while (true) {
            String text = Files.readString(output);
            int from = text.indexOf(words);
            int to = from < 0 ? -1 : text.indexOf('\n', from);
            if (to >= 0) {
                return text.substring(from + words.length(), to).strip();
            }
            assertTrue(process.isAlive() && System.nanoTime() < end, text);
            Thread.sleep(20);
        }
    }

    private static String run(Path dir, TestServer server, String... arguments) throws Exception {
        Path output = dir.resolve("output");
        ProcessBuilder program = Program.java(output, List.of(arguments));
        program.environment().put("ONEWRITE_EXAMPLE_URL", server.url());
        Program.run(program);
        return Files.readString(output);
    }
}
