import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.SocketChannel;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.handler.codec.ByteToMessageDecoder;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Locale;

/**
 * A server that answers at once. It is a separate process, so that its allocations are not counted as a client's. It
 * is written in Java because 50 callers would wait for a server in a slower language. Prints its port as JSON, and ends
 * when its standard input ends.
 */
public final class Origin {
    private static final ByteBuf ANSWER =
            ascii("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nok");
    private static final ByteBuf END_OF_HEAD = ascii("\r\n\r\n");
    private static final String LENGTH = "\r\ncontent-length:";

    private Origin() {}

    private static ByteBuf ascii(String text) {
        return Unpooled.unreleasableBuffer(Unpooled.copiedBuffer(text, StandardCharsets.US_ASCII));
    }

    /** Answers each request: one with a Content-Length, one without a body, or a chunked one without trailers. */
    private static final class Answer extends ByteToMessageDecoder {
        @Override
        protected void decode(ChannelHandlerContext context, ByteBuf in, List<Object> out) {
            int end = ByteBufUtil.indexOf(END_OF_HEAD, in);
            if (end < 0) {
                return;
            }
            int headBytes = end - in.readerIndex() + 4;
            String head = in.toString(in.readerIndex(), headBytes, StandardCharsets.US_ASCII)
                    .toLowerCase(Locale.ROOT);
            int at = head.indexOf(LENGTH);
            int whole;
            if (at >= 0) {
                int line = head.indexOf('\r', at + LENGTH.length());
                whole = headBytes
                        + Integer.parseInt(
                                head.substring(at + LENGTH.length(), line).trim());
            } else if (head.contains("\r\ntransfer-encoding: chunked")) {
                int last = head.length() + 5;
                if (in.readableBytes() < last
                        || !in.toString(in.writerIndex() - 5, 5, StandardCharsets.US_ASCII)
                                .equals("0\r\n\r\n")) {
                    return;
                }
                whole = in.readableBytes();
            } else {
                whole = headBytes;
            }
            if (in.readableBytes() < whole) {
                return;
            }
            in.skipBytes(whole);
            context.writeAndFlush(ANSWER.duplicate(), context.voidPromise());
        }
    }

    public static void main(String[] arguments) throws Exception {
        EventLoopGroup group = new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
        Channel server = new ServerBootstrap()
                .group(group)
                .channel(NioServerSocketChannel.class)
                .childOption(ChannelOption.TCP_NODELAY, true)
                .childHandler(new ChannelInitializer<SocketChannel>() {
                    @Override
                    protected void initChannel(SocketChannel made) {
                        made.pipeline().addLast(new Answer());
                    }
                })
                .bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0))
                .sync()
                .channel();
        int port = ((InetSocketAddress) server.localAddress()).getPort();
        System.out.println("{\"ready\": true, \"ports\": {\"plain\": " + port + "}}");
        while (System.in.read() >= 0) {
            // The bench closes standard input when it ends.
        }
        System.exit(0);
    }
}
