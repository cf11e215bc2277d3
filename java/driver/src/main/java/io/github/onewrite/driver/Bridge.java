package io.github.onewrite.driver;

import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.handler.codec.http.DefaultFullHttpResponse;
import io.netty.handler.codec.http.FullHttpRequest;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpObjectAggregator;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpServerCodec;
import io.netty.handler.codec.http.HttpVersion;
import java.net.InetSocketAddress;

/** The bridge: POSTs each request it gets on to the upstream through the client. */
final class Bridge extends SimpleChannelInboundHandler<FullHttpRequest> {
    private static final int MAX_BODY = 16 << 20;

    private final Client client;
    private final String upstream;

    private Bridge(Client client, String upstream) {
        this.client = client;
        this.upstream = upstream;
    }

    /** Starts the service on 127.0.0.1 and says on which port. */
    static int start(Client client, String upstream, int port) throws InterruptedException {
        Channel server = new ServerBootstrap()
                .group(new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory()))
                .channel(NioServerSocketChannel.class)
                .childHandler(new ChannelInitializer<Channel>() {
                    @Override
                    protected void initChannel(Channel ch) {
                        ch.pipeline()
                                .addLast(
                                        new HttpServerCodec(),
                                        new HttpObjectAggregator(MAX_BODY),
                                        new Bridge(client, upstream));
                    }
                })
                .bind("127.0.0.1", port)
                .sync()
                .channel();
        return ((InetSocketAddress) server.localAddress()).getPort();
    }

    @Override
    protected void channelRead0(ChannelHandlerContext ctx, FullHttpRequest request) {
        if (request.method().equals(HttpMethod.GET)) {
            boolean floor = request.uri().equals("/null");
            answer(ctx, floor ? 200 : 404, new byte[0]);
            return;
        }
        Payload body = new Payload.Memory("bytes", ByteBufUtil.getBytes(request.content()));
        client.send(Call.bare("POST", upstream, body).keepingBody()).thenAccept(reply -> {
            boolean answered = reply.ok() && reply.status != null;
            answer(
                    ctx,
                    answered ? reply.status : 502,
                    answered
                            ? reply.content()
                            : String.valueOf(reply.error).getBytes(java.nio.charset.StandardCharsets.UTF_8));
        });
    }

    private static void answer(ChannelHandlerContext ctx, int status, byte[] body) {
        var response = new DefaultFullHttpResponse(
                HttpVersion.HTTP_1_1, HttpResponseStatus.valueOf(status), Unpooled.wrappedBuffer(body));
        response.headers().setInt(HttpHeaderNames.CONTENT_LENGTH, body.length);
        ctx.writeAndFlush(response);
    }
}
