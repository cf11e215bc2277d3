package io.github.onewrite.bench;

import io.github.onewrite.reactornetty.OnewriteReactorNetty;
import io.netty.buffer.Unpooled;
import java.io.IOException;
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
import reactor.core.publisher.Mono;
import reactor.netty.http.client.HttpClient;

/** As {@link Post}, of Reactor Netty. */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.SampleTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
@Warmup(iterations = 3, time = 100, timeUnit = TimeUnit.MILLISECONDS)
@Measurement(iterations = 24, time = 100, timeUnit = TimeUnit.MILLISECONDS)
public class PostReactorNetty extends Turns {
    @Param({"stock", "stockAgain", "onewrite", "onTiming"})
    public Variant variant;

    @Param("200")
    public int size;

    private Mono<byte[]> post;

    @Setup
    public void open() throws IOException {
        HttpClient stock = HttpClient.create();
        HttpClient client = variant.isOnewrite()
                ? variant.hooked(OnewriteReactorNetty.create()).apply(stock)
                : stock;
        byte[] body = new byte[size];
        post = client.headers(headers -> headers.set("Content-Length", size))
                .post()
                .uri("http://127.0.0.1:" + Integer.getInteger("origin") + "/")
                .send(Mono.fromSupplier(() -> Unpooled.wrappedBuffer(body)))
                .responseSingle((response, content) -> content.asByteArray());
        for (int i = 0; i < Integer.getInteger("warm", 20_000); i++) {
            oneCaller();
        }
        join();
    }

    @TearDown
    public void close() throws IOException {
        leave();
    }

    @Benchmark
    public int oneCaller() {
        return post.block().length;
    }
}
