package io.github.onewrite.bench.jmh;

import java.net.URI;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Threads;
import org.openjdk.jmh.annotations.Warmup;

/**
 * A POST of 200 bytes on kept connections, by one caller or by as many as {@code -t} says. The server is another
 * process, or its allocations would count as the client's. Closed loop: for cost per call, not for stalls.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.SampleTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
@Fork(3)
@Warmup(iterations = 3, time = 2)
@Measurement(iterations = 3, time = 2)
@Threads(1)
public class PostBenchmark {
    @Param({
        "raw-socket",
        "raw-netty",
        "onewrite",
        "onewrite-timing",
        "onewrite-listener",
        "reactor-netty",
        "async-http-client",
        "java.net.http",
        "okhttp",
        "apache-5",
        "apache-5-async",
        "jetty",
        "vertx"
    })
    public String client;

    /** An origin that answers at once, such as {@link Origin}. */
    @Param("")
    public String url;

    private Poster poster;

    @Setup(Level.Trial)
    public void open() throws Exception {
        if (url.isEmpty()) {
            throw new IllegalArgumentException("say where the origin is: -p url=http://127.0.0.1:PORT/");
        }
        byte[] body = "x".repeat(200).getBytes(java.nio.charset.StandardCharsets.US_ASCII);
        poster = Poster.of(client, URI.create(url), body);
    }

    @TearDown(Level.Trial)
    public void close() throws Exception {
        poster.close();
    }

    @Benchmark
    public int post() throws Exception {
        int status = poster.post();
        if (status != 200) {
            throw new IllegalStateException(client + " got status " + status);
        }
        return status;
    }
}
