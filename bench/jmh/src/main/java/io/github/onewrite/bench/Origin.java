package io.github.onewrite.bench;

import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.handler.codec.ByteToMessageDecoder;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Locale;

/**
 * Answers each POST with two bytes, and schedules the turns: {@code Origin FORKS}. It prints the ports of both as a JSON
 * line, and ends with its standard input.
 */
public final class Origin {
    private static final ByteBuf END_OF_HEAD = ascii("\r\n\r\n");
    private static final ByteBuf ANSWER = ascii("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    private static final String LENGTH = "\r\ncontent-length: ";

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
                        accepted.pipeline().addLast(new Answering());
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
            while (System.in.read() >= 0) {
                // The bytes mean nothing.
            }
        } catch (IOException e) {
            // The other end is closed.
        }
        System.exit(0);
    }

    private static ByteBuf ascii(String text) {
        return Unpooled.unreleasableBuffer(Unpooled.copiedBuffer(text, StandardCharsets.US_ASCII));
    }

    private static final class Answering extends ByteToMessageDecoder {
        @Override
        protected void decode(ChannelHandlerContext ctx, ByteBuf in, List<Object> out) {
            int end = ByteBufUtil.indexOf(END_OF_HEAD, in);
            if (end < 0) {
                return;
            }
            int head = end - in.readerIndex();
            int whole = head + 4 + contentLength(in.toString(in.readerIndex(), head, StandardCharsets.US_ASCII));
            if (in.readableBytes() >= whole) {
                in.skipBytes(whole);
                ctx.writeAndFlush(ANSWER.duplicate(), ctx.voidPromise());
            }
        }

        private static int contentLength(String head) {
            String lowered = head.toLowerCase(Locale.ROOT) + "\r\n";
            int at = lowered.indexOf(LENGTH) + LENGTH.length();
            return Integer.parseInt(lowered, at, lowered.indexOf("\r\n", at), 10);
        }
    }
}
