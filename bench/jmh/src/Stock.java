import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.channel.pool.AbstractChannelPoolHandler;
import io.netty.channel.pool.ChannelHealthChecker;
import io.netty.channel.pool.FixedChannelPool;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.netty.handler.codec.http.DefaultFullHttpRequest;
import io.netty.handler.codec.http.FullHttpResponse;
import io.netty.handler.codec.http.HttpClientCodec;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpObjectAggregator;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.util.AttributeKey;
import io.netty.util.concurrent.Future;
import java.net.URI;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;

/** Bare Netty as an application uses it: codec, aggregator and FixedChannelPool, without time limits and hooks. */
final class Stock implements Poster {
    private static final AttributeKey<CompletableFuture<Integer>> CALL = AttributeKey.valueOf(Stock.class, "call");

    private final FixedChannelPool pool;
    private final String host;
    private final String path;
    private final byte[] body;

    /** {@code tracing} makes what OpenTelemetry puts into a pipeline behind the codec; null without it. */
    Stock(URI url, byte[] body, EventLoopGroup group, Supplier<ChannelHandler> tracing) {
        this.host = url.getAuthority();
        this.path = url.getRawPath();
        this.body = body;
        Bootstrap bootstrap = new Bootstrap()
                .group(group)
                .channel(NioSocketChannel.class)
                .remoteAddress(url.getHost(), url.getPort());
        pool = new FixedChannelPool(
                bootstrap,
                new AbstractChannelPoolHandler() {
                    @Override
                    public void channelCreated(Channel made) {
                        made.pipeline().addLast(new HttpClientCodec());
                        if (tracing != null) {
                            made.pipeline().addLast(tracing.get());
                        }
                        made.pipeline().addLast(new HttpObjectAggregator(65536), new Answer());
                    }
                },
                ChannelHealthChecker.ACTIVE,
                null,
                -1,
                64,
                10_000);
    }

    private final class Answer extends SimpleChannelInboundHandler<FullHttpResponse> {
        @Override
        protected void channelRead0(ChannelHandlerContext ctx, FullHttpResponse response) {
            ByteBufUtil.getBytes(response.content());
            CompletableFuture<Integer> call = ctx.channel().attr(CALL).getAndSet(null);
            pool.release(ctx.channel());
            call.complete(response.status().code());
        }
    }

    @Override
    public int post() throws Exception {
        CompletableFuture<Integer> call = new CompletableFuture<>();
        pool.acquire().addListener((Future<Channel> acquired) -> {
            Channel channel = acquired.getNow();
            channel.attr(CALL).set(call);
            var request = new DefaultFullHttpRequest(
                    HttpVersion.HTTP_1_1, HttpMethod.POST, path, Unpooled.wrappedBuffer(body));
            request.headers()
                    .set(HttpHeaderNames.HOST, host)
                    .set(HttpHeaderNames.CONTENT_LENGTH, Integer.toString(body.length));
            channel.writeAndFlush(request).addListener(written -> {
                if (!written.isSuccess()) {
                    call.completeExceptionally(written.cause());
                }
            });
        });
        return call.get();
    }
}
