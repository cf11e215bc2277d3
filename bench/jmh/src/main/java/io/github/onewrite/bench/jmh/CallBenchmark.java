package io.github.onewrite.bench.jmh;

import io.github.onewrite.Timing;
import io.github.onewrite.TimingListener;
import io.github.onewrite.netty.Body;
import io.github.onewrite.netty.OnewriteClient;
import io.github.onewrite.netty.OnewriteClientBuilder;
import io.github.onewrite.netty.Request;
import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.channel.nio.NioIoHandler;
import io.netty.handler.codec.http.DefaultFullHttpRequest;
import io.netty.handler.codec.http.FullHttpResponse;
import io.netty.handler.codec.http.HttpClientCodec;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpObjectAggregator;
import io.netty.handler.codec.http.HttpVersion;
import java.net.URI;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import org.openjdk.jmh.annotations.AuxCounters;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Threads;
import org.openjdk.jmh.annotations.Warmup;

/**
 * What a call costs the client itself: a POST over a channel without a kernel, one after the other on the event loop,
 * so that no thread waits for another. The first half, from the call to the write, is building, checking and encoding
 * the request; it is counted apart. With hooks off, with a timing record per call, and with a listener for each event.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Fork(3)
@Warmup(iterations = 4, time = 1)
@Measurement(iterations = 4, time = 1)
@Threads(1)
public class CallBenchmark {
    private static final int CALLS = 500;
    private static final URI URL = URI.create("http://127.0.0.1:2/");

    @Param({"raw-netty", "onewrite", "onewrite-timing", "onewrite-listener"})
    public String client;

    @Param({"200", "16000"})
    public int bodyBytes;

    /** Nanoseconds between call and write, and the calls that they belong to. */
    @State(Scope.Thread)
    @AuxCounters(AuxCounters.Type.EVENTS)
    public static class Encoding {
        public long encodeNanos;
        public long calls;
    }

    private final EventLoopGroup group = new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
    private NullChannel channel;
    private AutoCloseable closing;
    private Sender sender;
    private volatile Timing last;

    /** Sends one POST; hands over the status, or what went wrong, on the event loop. */
    private interface Sender {
        void send(BiConsumer<Integer, Throwable> done);
    }

    private NullChannel made() {
        channel = new NullChannel();
        return channel;
    }

    @Setup(Level.Trial)
    public void open() throws Exception {
        byte[] body = new byte[bodyBytes];
        if (client.equals("raw-netty")) {
            Bare bare = new Bare(body);
            sender = bare;
            closing = () -> bare.connected.close().sync();
            return;
        }
        OnewriteClientBuilder builder = OnewriteClient.builder().eventLoopGroup(group, this::made);
        switch (client) {
            case "onewrite" -> {}
            case "onewrite-timing" -> builder.onTiming(timing -> last = timing);
            case "onewrite-listener" -> builder.listener(new TimingListener() {});
            default -> throw new IllegalArgumentException("no client " + client);
        }
        OnewriteClient made = builder.build();
        sender = done -> made.send(Request.post(URL, Body.of(body)).build())
                .whenComplete((response, failure) -> done.accept(response == null ? 0 : response.status(), failure));
        closing = made;
    }

    @TearDown(Level.Trial)
    public void close() throws Exception {
        closing.close();
        group.shutdownGracefully(0, 1, TimeUnit.SECONDS).sync();
        if (client.equals("onewrite-timing") && last == null) {
            throw new IllegalStateException("the hook was never called");
        }
    }

    @Benchmark
    @OperationsPerInvocation(CALLS)
    public void call(Encoding encoding) throws Exception {
        CompletableFuture<Void> over = new CompletableFuture<>();
        Chain chain = new Chain(encoding, over);
        group.next().execute(chain::next);
        over.get();
    }

    /** Calls one after the other, each from the end of the one before. */
    private final class Chain {
        private final Encoding encoding;
        private final CompletableFuture<Void> over;
        private int left = CALLS;
        private long began;

        Chain(Encoding encoding, CompletableFuture<Void> over) {
            this.encoding = encoding;
            this.over = over;
        }

        void next() {
            began = System.nanoTime();
            sender.send(this::done);
        }

        private void done(Integer status, Throwable failure) {
            if (failure != null || status != 200 || channel.writtenBytes <= bodyBytes) {
                over.completeExceptionally(new IllegalStateException(
                        "status " + status + ", " + channel.writtenBytes + " bytes written", failure));
                return;
            }
            encoding.encodeNanos += channel.writtenNanos - began;
            encoding.calls++;
            if (--left > 0) {
                next();
            } else {
                over.complete(null);
            }
        }
    }

    /** Netty's codec on one channel: no pool, no time limits, no checks, no hooks. */
    private final class Bare extends SimpleChannelInboundHandler<FullHttpResponse> implements Sender {
        private final byte[] body;
        private final Channel connected;
        private BiConsumer<Integer, Throwable> waiting;

        Bare(byte[] body) throws InterruptedException {
            this.body = body;
            connected = new Bootstrap()
                    .group(group)
                    .channelFactory(CallBenchmark.this::made)
                    .handler(new ChannelInitializer<Channel>() {
                        @Override
                        protected void initChannel(Channel made) {
                            made.pipeline().addLast(new HttpClientCodec(), new HttpObjectAggregator(65536), Bare.this);
                        }
                    })
                    .connect(URL.getHost(), URL.getPort())
                    .sync()
                    .channel();
        }

        @Override
        public void send(BiConsumer<Integer, Throwable> done) {
            waiting = done;
            var request = new DefaultFullHttpRequest(
                    HttpVersion.HTTP_1_1, HttpMethod.POST, URL.getRawPath(), Unpooled.wrappedBuffer(body));
            request.headers()
                    .set(HttpHeaderNames.HOST, URL.getAuthority())
                    .set(HttpHeaderNames.CONTENT_LENGTH, body.length);
            connected.writeAndFlush(request, connected.voidPromise());
        }

        @Override
        protected void channelRead0(ChannelHandlerContext context, FullHttpResponse response) {
            waiting.accept(response.status().code(), null);
        }

        @Override
        public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
            waiting.accept(0, cause);
        }
    }
}
