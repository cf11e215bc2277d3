package io.github.onewrite.bench;

import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
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
 * A POST through HAProxy with {@code option http-buffer-request}, at the port of the property {@code haproxy}. The program
 * flushes head and body apart with Nagle's algorithm on: as {@code stock} it is the control, else the adapter is applied.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.SampleTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
@Warmup(iterations = 3, time = 500, timeUnit = TimeUnit.MILLISECONDS)
@Measurement(iterations = 10, time = 500, timeUnit = TimeUnit.MILLISECONDS)
public class Stall extends Turns {
    private static final int WARM = 50;

    @Param({"stock", "onewrite", "onTiming"})
    public Variant variant;

    @Param("200")
    public int size;

    private NettyClient client;

    @Setup
    public void open() throws Exception {
        client = new NettyClient(variant, Integer.getInteger("haproxy"), size, true);
        for (int i = 0; i < WARM; i++) {
            client.post();
        }
        join();
    }

    @TearDown
    public void close() throws Exception {
        leave();
        client.close();
    }

    @Benchmark
    public int throughHaproxy() throws Exception {
        return client.post();
    }
}
