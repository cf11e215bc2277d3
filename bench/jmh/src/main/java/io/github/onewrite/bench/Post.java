package io.github.onewrite.bench;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;

/** A POST on kept connections over loopback, to a server in another process. */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.SampleTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
public class Post extends Turns {
    private static final int CALLERS = 50;

    @Param({"netty", "nettyStall", "okHttp", "reactorNetty"})
    public Library library;

    @Param({"stock", "stockAgain", "onewrite", "onTiming", "openTelemetry"})
    public Variant variant;

    @Param({"200", "20000"})
    public int size;

    private Client client;

    /** Warms up by a number of requests: in JMH's warm-up, which lasts a time, a busy machine compiles less. */
    @Setup
    public void open() throws Exception {
        client = library.client(variant, size);
        int requests = library == Library.netty ? CALLERS + 1 : 1;
        for (int i = 0; i < Integer.getInteger("warm"); i += requests) {
            oneCaller();
            if (requests > 1) {
                fiftyCallers();
            }
        }
        join();
    }

    @TearDown
    public void close() throws Exception {
        leave();
        client.close();
    }

    @Benchmark
    public int oneCaller() throws Exception {
        return client.post();
    }

    /** Fifty requests of Netty at once. Fifty threads of JMH would go on while another fork has its turn. */
    @Benchmark
    @OperationsPerInvocation(CALLERS)
    public int fiftyCallers() throws Exception {
        List<CompletableFuture<Integer>> answers = new ArrayList<>(CALLERS);
        for (int i = 0; i < CALLERS; i++) {
            answers.add(((NettyClient) client).start());
        }
        int sum = 0;
        for (CompletableFuture<Integer> each : answers) {
            sum += each.get();
        }
        return sum;
    }
}
