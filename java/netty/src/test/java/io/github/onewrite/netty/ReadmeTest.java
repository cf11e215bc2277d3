package io.github.onewrite.netty;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What the README shows first, and the example, run as they stand. */
class ReadmeTest {
    private static final Path JAVA = Path.of("..");

    @Test
    void quickStart(@TempDir Path dir) throws Exception {
        String readme = Files.readString(JAVA.resolve("README.md"));
        int use = readme.indexOf("\n## Use\n");
        int from = readme.indexOf("```java\n", use) + "```java\n".length();
        Path source =
                Files.writeString(dir.resolve("Example.java"), readme.substring(from, readme.indexOf("```", from)));
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
            String output = run(
                    dir,
                    server,
                    JAVA.resolve("examples/TimedPost.java").toAbsolutePath().toString(),
                    server.url());
            assertEquals(3, server.requests().size());
            assertTrue(output.contains("reused conn 1"), output);
        }
    }

    private static String run(Path dir, TestServer server, String... arguments) throws Exception {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-cp",
                System.getProperty("java.class.path")));
        command.addAll(List.of(arguments));
        Path output = dir.resolve("output");
        ProcessBuilder builder =
                new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(output.toFile());
        builder.environment().put("ONEWRITE_EXAMPLE_URL", server.url());
        Process process = builder.start();
        try {
            assertTrue(process.waitFor(60, TimeUnit.SECONDS), "not over in 60 s");
            String text = Files.readString(output);
            assertEquals(0, process.exitValue(), text);
            return text;
        } finally {
            process.destroyForcibly();
        }
    }
}
