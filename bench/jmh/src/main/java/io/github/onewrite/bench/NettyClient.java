package io.github.onewrite.bench;

import io.github.onewrite.netty.OnewriteNetty;
import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.pool.AbstractChannelPoolHandler;
import io.netty.channel.pool.ChannelPool;
import io.netty.channel.pool.ChannelPoolHandler;
import io.netty.channel.pool.FixedChannelPool;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.netty.handler.codec.http.DefaultFullHttpRequest;
import io.netty.handler.codec.http.DefaultHttpRequest;
import io.netty.handler.codec.http.DefaultLastHttpContent;
import io.netty.handler.codec.http.FullHttpResponse;
import io.netty.handler.codec.http.HttpClientCodec;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpObjectAggregator;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.util.AttributeKey;
import io.netty.util.concurrent.Future;
import io.opentelemetry.instrumentation.netty.v4_1.NettyClientTelemetry;
import io.opentelemetry.sdk.OpenTelemetrySdk;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/** A program on Netty: a FixedChannelPool, the codec, an aggregator. */
final class NettyClient implements Client {
    private static final AttributeKey<CompletableFuture<Integer>> ANSWER =
            AttributeKey.valueOf(NettyClient.class, "answer");
    private static final int CHANNELS = 64;
    private static final int WAITING = 10_000;

    private final EventLoopGroup group = new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
    private final OpenTelemetrySdk sdk;
    private final ChannelPool pool;
    private final byte[] body;
    private final boolean apart;

    /**
     * A client of a server on loopback.
     *
     * @param apart Nagle's algorithm is on, and head and body are flushed separately
     */
    NettyClient(Variant variant, int port, int size, boolean apart) {
        this.body = new byte[size];
        this.apart = apart;
        this.sdk = variant == Variant.openTelemetry ? Variant.sdk() : null;
        Bootstrap bootstrap =
                new Bootstrap().group(group).channel(NioSocketChannel.class).remoteAddress("127.0.0.1", port);
        if (apart) { // the user's own setting, which the adapter leaves alone
            bootstrap.option(ChannelOption.TCP_NODELAY, false);
        }
        if (variant.isOnewrite()) {
            OnewriteNetty onewrite = variant.hooked(OnewriteNetty.create());
            onewrite.apply(bootstrap);
            pool = onewrite.wrap(pool(bootstrap, onewrite.wrap(handler())), "http://127.0.0.1:" + port);
        } else {
            pool = pool(bootstrap, handler());
        }
    }

    private static ChannelPool pool(Bootstrap bootstrap, ChannelPoolHandler handler) {
        return new FixedChannelPool(bootstrap, handler, CHANNELS, WAITING);
    }

    private ChannelPoolHandler handler() {
        NettyClientTelemetry telemetry = sdk == null ? null : NettyClientTelemetry.create(sdk);
        return new AbstractChannelPoolHandler() {
            @Override
            public void channelCreated(Channel channel) {
                channel.pipeline().addLast(new HttpClientCodec());
                if (telemetry != null) {
                    channel.pipeline().addLast(telemetry.createCombinedHandler());
                }
                channel.pipeline().addLast(new HttpObjectAggregator(65_536), new Answers());
            }
        };
    }

    @Override
    public int post() throws Exception {
        return start().get();
    }

    /** Starts a POST. */
    CompletableFuture<Integer> start() {
        CompletableFuture<Integer> answer = new CompletableFuture<>();
        pool.acquire().addListener((Future<Channel> acquired) -> {
            if (acquired.isSuccess()) {
                acquired.getNow().attr(ANSWER).set(answer);
                write(acquired.getNow());
            } else {
                answer.completeExceptionally(acquired.cause());
            }
        });
        return answer;
    }

    private void write(Channel channel) {
        if (apart) {
            channel.writeAndFlush(withHeaders(new DefaultHttpRequest(HttpVersion.HTTP_1_1, HttpMethod.POST, "/")));
            channel.writeAndFlush(new DefaultLastHttpContent(Unpooled.wrappedBuffer(body)));
        } else {
            channel.writeAndFlush(withHeaders(new DefaultFullHttpRequest(
                    HttpVersion.HTTP_1_1, HttpMethod.POST, "/", Unpooled.wrappedBuffer(body))));
        }
    }

    private HttpRequest withHeaders(HttpRequest request) {
        request.headers().set(HttpHeaderNames.HOST, "127.0.0.1").setInt(HttpHeaderNames.CONTENT_LENGTH, body.length);
        return request;
    }

    @Override
    public void close() {
        pool.close();
        group.shutdownGracefully(0, 1, TimeUnit.SECONDS);
        if (sdk != null) {
            sdk.close();
        }
    }

    private final class Answers extends SimpleChannelInboundHandler<FullHttpResponse> {
        @Override
        protected void channelRead0(ChannelHandlerContext ctx, FullHttpResponse response) {
            CompletableFuture<Integer> answer = ctx.channel().attr(ANSWER).getAndSet(null);
            pool.release(ctx.channel());
            answer.complete(response.status().code());
        }
    }
}
