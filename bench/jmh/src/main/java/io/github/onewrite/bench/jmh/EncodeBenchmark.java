package io.github.onewrite.bench.jmh;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.CompositeByteBuf;
import io.netty.buffer.PooledByteBufAllocator;
import io.netty.buffer.Unpooled;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.codec.http.DefaultFullHttpRequest;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpRequestEncoder;
import io.netty.handler.codec.http.HttpVersion;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Threads;
import org.openjdk.jmh.annotations.Warmup;

/** What it costs to bring head and body into one write: gathered as they are, copied into one buffer, or composed. */
@State(Scope.Thread)
@BenchmarkMode(Mode.SampleTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Fork(3)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 3, time = 1)
@Threads(1)
public class EncodeBenchmark {
    @Param({"200", "16000"})
    public int bodyBytes;

    private final EmbeddedChannel channel = new EmbeddedChannel(new HttpRequestEncoder());

    /** Netty's encoder alone: a head and a body, to be gathered by one writev. */
    @Benchmark
    public int gather() {
        channel.writeOutbound(request());
        return drain(null);
    }

    /** Copied into one buffer, as TLS needs it to make one record. */
    @Benchmark
    public int copy() {
        channel.writeOutbound(request());
        ByteBuf joined = PooledByteBufAllocator.DEFAULT.directBuffer(bodyBytes + 256);
        try {
            return drain(joined);
        } finally {
            joined.release();
        }
    }

    /** Composed: one buffer to look at, nothing copied. */
    @Benchmark
    public int compose() {
        channel.writeOutbound(request());
        CompositeByteBuf joined = PooledByteBufAllocator.DEFAULT.compositeBuffer(2);
        try {
            for (ByteBuf part; (part = channel.readOutbound()) != null; ) {
                joined.addComponent(true, part);
            }
            return joined.readableBytes();
        } finally {
            joined.release();
        }
    }

    private int drain(ByteBuf into) {
        int bytes = 0;
        for (ByteBuf part; (part = channel.readOutbound()) != null; ) {
            bytes += part.readableBytes();
            if (into != null) {
                into.writeBytes(part);
            }
            part.release();
        }
        return bytes;
    }

    private DefaultFullHttpRequest request() {
        var request = new DefaultFullHttpRequest(
                HttpVersion.HTTP_1_1, HttpMethod.POST, "/", Unpooled.wrappedBuffer(new byte[bodyBytes]));
        request.headers().set(HttpHeaderNames.HOST, "127.0.0.1:8080").set(HttpHeaderNames.CONTENT_LENGTH, bodyBytes);
        return request;
    }
}
