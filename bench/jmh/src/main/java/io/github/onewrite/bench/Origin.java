package io.github.onewrite.bench;

import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.handler.codec.http.DefaultFullHttpResponse;
import io.netty.handler.codec.http.FullHttpRequest;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpObjectAggregator;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpServerCodec;
import io.netty.handler.codec.http.HttpVersion;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;

/**
 * Answers each POST with two bytes, and schedules the turns: {@code Origin FORKS}. It prints the ports of both as a JSON
 * line, and ends with its standard input.
 */
public final class Origin {
    private static final byte[] BODY = {'o', 'k'};

    private Origin() {}

    public static void main(String[] arguments) throws Exception {
        int forks = Integer.parseInt(arguments[0]);
        Channel server = new ServerBootstrap()
                .group(new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory()))
                .channel(NioServerSocketChannel.class)
                .childOption(ChannelOption.TCP_NODELAY, true)
                .childHandler(new ChannelInitializer<>() {
                    @Override
                    protected void initChannel(Channel accepted) {
                        accepted.pipeline()
                                .addLast(new HttpServerCodec(), new HttpObjectAggregator(65_536), new Answering());
                    }
                })
                .bind(InetAddress.getLoopbackAddress(), 0)
                .sync()
                .channel();
        ServerSocket turns = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
        int port = ((InetSocketAddress) server.localAddress()).getPort();
        System.out.println("{\"ports\": {\"post\": %d, \"turns\": %d}}".formatted(port, turns.getLocalPort()));
        new Thread(Origin::exitWithInput).start();
        while (true) {
            Turns.schedule(turns, forks);
        }
    }

    private static void exitWithInput() {
        try {
            System.in.transferTo(OutputStream.nullOutputStream());
        } catch (IOException e) {
            // The other end is closed.
        }
        System.exit(0);
    }

    private static final class Answering extends SimpleChannelInboundHandler<FullHttpRequest> {
        @Override
        protected void channelRead0(ChannelHandlerContext ctx, FullHttpRequest request) {
            var answer = new DefaultFullHttpResponse(
                    HttpVersion.HTTP_1_1, HttpResponseStatus.OK, Unpooled.wrappedBuffer(BODY));
            answer.headers().setInt(HttpHeaderNames.CONTENT_LENGTH, BODY.length);
            ctx.writeAndFlush(answer, ctx.voidPromise());
        }
    }
}
