package io.github.onewrite.testing;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Java programs that run in another JVM, with the class path of the tests. */
public final class Program {
    private Program() {}

    /**
     * The command; its output goes to this file. The JVM's options make it start quickly.
     *
     * @param arguments options, a class or a source file, and its arguments
     */
    public static ProcessBuilder java(Path output, List<String> arguments) {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC",
                "-cp",
                System.getProperty("java.class.path")));
        command.addAll(arguments);
        return new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(output.toFile());
    }

    /** Runs a program, and asserts that it exits with 0. */
    public static void run(ProcessBuilder program) throws Exception {
        Process process = program.start();
        try {
            assertTrue(process.waitFor(120, TimeUnit.SECONDS), "not over in 120 s");
            assertEquals(
                    0,
                    process.exitValue(),
                    Files.readString(program.redirectOutput().file().toPath()));
        } finally {
            process.destroyForcibly();
        }
    }
}
