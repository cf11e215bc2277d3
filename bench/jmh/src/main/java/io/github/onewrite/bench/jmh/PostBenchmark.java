package io.github.onewrite.bench.jmh;

import io.netty.channel.EventLoopGroup;
import java.net.URI;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.AuxCounters;
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
import org.openjdk.jmh.annotations.Warmup;

/**
 * POSTs of 200 bytes on kept-alive connections, by one caller and by fifty, each of which waits for the response before
 * its next call. This measures the cost of a call; it cannot show stalls.
 *
 * <p>The client and raw Netty take turns of 60 ms in one process, and each turn is compared with the one beside it. On
 * a shared machine two processes that run one after the other differ by more than two clients do. One iteration is a
 * round of four turns. Its results are in the counters; the time that JMH prints for the round means nothing. The
 * origin is another process, so that its work is not counted as the client's.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.SingleShotTime)
@OutputTimeUnit(TimeUnit.MILLISECONDS)
@Fork(2)
@Warmup(iterations = 20)
@Measurement(iterations = 20)
public class PostBenchmark {
    private static final int MANY = 50;

    @Param({"onewrite", "raw-socket", "raw-netty"})
    public String client;

    /** URL of a server that answers at once, such as {@link Origin}. */
    @Param("")
    public String url;

    /** Of a deprecated class: AsyncHttpClient accepts no other. */
    @SuppressWarnings("deprecation")
    private final EventLoopGroup group = new io.netty.channel.nio.NioEventLoopGroup(1);

    private Poster poster;
    private Poster raw;
    private Callers one;
    private Callers many;
    private boolean rawFirst;

    /** Microseconds, calls per second and bytes per call: of the client, and of raw Netty in the turn beside it. */
    @State(Scope.Thread)
    @AuxCounters(AuxCounters.Type.EVENTS)
    public static class Found {
        public double oneP50;
        public double oneP90;
        public double oneRate;
        public double oneBytes;
        public double oneRawP50;
        public double oneRawP90;
        public double oneRawRate;
        public double oneRawBytes;
        public double manyP50;
        public double manyP90;
        public double manyRate;
        public double manyBytes;
        public double manyRawP50;
        public double manyRawP90;
        public double manyRawRate;
        public double manyRawBytes;
    }

    @Setup(Level.Trial)
    public void open() throws Exception {
        if (url.isEmpty()) {
            throw new IllegalArgumentException("say where the origin is: -p url=http://127.0.0.1:PORT/");
        }
        byte[] body = "x".repeat(200).getBytes(java.nio.charset.StandardCharsets.US_ASCII);
        poster = Poster.of(client, URI.create(url), body, group);
        raw = Poster.of("raw-netty", URI.create(url), body, group);
        one = new Callers(1);
        many = new Callers(MANY);
    }

    @TearDown(Level.Trial)
    public void close() throws Exception {
        one.close();
        many.close();
        poster.close();
        raw.close();
        group.shutdownGracefully(0, 1, TimeUnit.SECONDS).sync();
    }

    @Benchmark
    public void round(Found found) throws Exception {
        rawFirst = !rawFirst;
        Turns alone = turns(one);
        found.oneP50 = alone.mine.p50();
        found.oneP90 = alone.mine.p90();
        found.oneRate = alone.mine.rate();
        found.oneBytes = alone.mine.bytes();
        found.oneRawP50 = alone.beside.p50();
        found.oneRawP90 = alone.beside.p90();
        found.oneRawRate = alone.beside.rate();
        found.oneRawBytes = alone.beside.bytes();
        Turns together = turns(many);
        found.manyP50 = together.mine.p50();
        found.manyP90 = together.mine.p90();
        found.manyRate = together.mine.rate();
        found.manyBytes = together.mine.bytes();
        found.manyRawP50 = together.beside.p50();
        found.manyRawP90 = together.beside.p90();
        found.manyRawRate = together.beside.rate();
        found.manyRawBytes = together.beside.bytes();
    }

    /** A turn of the client and the turn of raw Netty beside it. */
    private record Turns(Callers.Turn mine, Callers.Turn beside) {}

    private Turns turns(Callers callers) throws Exception {
        if (rawFirst) {
            Callers.Turn beside = callers.turn(raw);
            return new Turns(callers.turn(poster), beside);
        }
        return new Turns(callers.turn(poster), callers.turn(raw));
    }
}
