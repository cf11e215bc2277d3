package io.github.onewrite.bench.jmh;

import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.channel.socket.SocketChannel;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.netty.handler.codec.http.DefaultFullHttpRequest;
import io.netty.handler.codec.http.FullHttpResponse;
import io.netty.handler.codec.http.HttpClientCodec;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpObjectAggregator;
import io.netty.handler.codec.http.HttpVersion;
import java.net.URI;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;

/**
 * Netty's HTTP codec on one channel per caller, without a pool, time limits or hooks: the least that a client on Netty
 * can cost.
 */
final class RawNetty implements Poster {
    private final EventLoopGroup group;
    private final List<Channel> channels = new CopyOnWriteArrayList<>();
    private final ThreadLocal<Caller> callers;

    RawNetty(URI url, byte[] body, EventLoopGroup group) {
        this.group = group;
        callers = ThreadLocal.withInitial(() -> new Caller(url, body));
    }

    private final class Caller extends SimpleChannelInboundHandler<FullHttpResponse> {
        private final Channel channel;
        private final String host;
        private final String path;
        private final byte[] body;
        private volatile CompletableFuture<Integer> waiting = new CompletableFuture<>();

        Caller(URI url, byte[] body) {
            this.body = body;
            host = url.getAuthority();
            path = url.getRawPath();
            channel = new Bootstrap()
                    .group(group)
                    .channel(NioSocketChannel.class)
                    .option(ChannelOption.TCP_NODELAY, true)
                    .handler(new ChannelInitializer<SocketChannel>() {
                        @Override
                        protected void initChannel(SocketChannel made) {
                            made.pipeline()
                                    .addLast(new HttpClientCodec(), new HttpObjectAggregator(65536), Caller.this);
                        }
                    })
                    .connect(url.getHost(), url.getPort())
                    .syncUninterruptibly()
                    .channel();
            channels.add(channel);
        }

        int post() throws Exception {
            CompletableFuture<Integer> mine = new CompletableFuture<>();
            waiting = mine;
            var request = new DefaultFullHttpRequest(
                    HttpVersion.HTTP_1_1, HttpMethod.POST, path, Unpooled.wrappedBuffer(body));
            request.headers()
                    .set(HttpHeaderNames.HOST, host)
                    .set(HttpHeaderNames.CONTENT_LENGTH, body.length);
            channel.writeAndFlush(request, channel.voidPromise());
            return mine.get();
        }

        @Override
        protected void channelRead0(ChannelHandlerContext context, FullHttpResponse response) {
            waiting.complete(response.status().code());
        }

        @Override
        public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
            waiting.completeExceptionally(cause);
        }
    }

    @Override
    public int post() throws Exception {
        return callers.get().post();
    }

    @Override
    public void close() {
        channels.forEach(Channel::close);
    }
}
