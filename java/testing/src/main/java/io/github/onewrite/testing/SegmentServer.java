package io.github.onewrite.testing;

import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.epoll.EpollEventLoopGroup;
import io.netty.channel.epoll.EpollServerSocketChannel;
import io.netty.channel.unix.RawUnixChannelOption;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;

/**
 * Counts the TCP data segments of each request where they arrive: tcpi_data_segs_in, read when the request is complete
 * and before it is answered. Linux.
 */
@SuppressWarnings("deprecation")
public final class SegmentServer implements AutoCloseable {
    /** How many requests a test sends, so that the mode of their counts means something. */
    public static final int REQUESTS = 20;

    private static final int DATA_SEGS_IN = 152;
    private static final RawUnixChannelOption INFO = new RawUnixChannelOption("TEST_TCP_INFO", 6, 11, 192);
    private static final byte[] OK = TestServer.OK.getBytes(StandardCharsets.US_ASCII);

    private final EventLoopGroup group = new EpollEventLoopGroup(1);
    private final Channel listener;
    private final List<Integer> segments = new CopyOnWriteArrayList<>();

    public SegmentServer() throws InterruptedException {
        listener = new ServerBootstrap()
                .group(group)
                .channel(EpollServerSocketChannel.class)
                .childOption(ChannelOption.TCP_NODELAY, true)
                .childHandler(new ChannelInitializer<Channel>() {
                    @Override
                    protected void initChannel(Channel channel) {
                        channel.pipeline().addLast(new Counter());
                    }
                })
                .bind("127.0.0.1", 0)
                .sync()
                .channel();
    }

    public String url() {
        return "http://127.0.0.1:" + ((InetSocketAddress) listener.localAddress()).getPort() + "/";
    }

    public List<Integer> segments() {
        return segments;
    }

    /** The most frequent count. A single request may have one more, from a tail loss probe. */
    public int mode() {
        Map<Integer, Integer> times = new TreeMap<>();
        segments.forEach(count -> times.merge(count, 1, Integer::sum));
        return times.entrySet().stream()
                .max(Map.Entry.comparingByValue())
                .orElseThrow()
                .getKey();
    }

    @Override
    public void close() throws InterruptedException {
        listener.close().sync();
        group.shutdownGracefully(0, 1, TimeUnit.SECONDS);
    }

    private final class Counter extends ChannelInboundHandlerAdapter {
        private final StringBuilder request = new StringBuilder();
        private int before;

        @Override
        public void channelRead(ChannelHandlerContext ctx, Object message) {
            ByteBuf bytes = (ByteBuf) message;
            request.append(bytes.toString(StandardCharsets.ISO_8859_1));
            bytes.release();
            if (complete()) {
                request.setLength(0);
                ByteBuffer info = ctx.channel().config().getOption(INFO).order(ByteOrder.nativeOrder());
                int now = info.getInt(DATA_SEGS_IN);
                segments.add(now - before);
                before = now;
                ctx.writeAndFlush(Unpooled.wrappedBuffer(OK));
            }
        }

        private boolean complete() {
            int end = request.indexOf("\r\n\r\n");
            if (end < 0) {
                return false;
            }
            String head = request.substring(0, end).toLowerCase(java.util.Locale.ROOT);
            if (head.contains("transfer-encoding: chunked")) {
                return request.toString().endsWith("\r\n0\r\n\r\n");
            }
            int at = head.indexOf("content-length: ");
            if (at < 0) {
                return true;
            }
            int line = head.indexOf("\r\n", at);
            int length = Integer.parseInt(head.substring(at + 16, line < 0 ? head.length() : line));
            return request.length() >= end + 4 + length;
        }
    }
}
