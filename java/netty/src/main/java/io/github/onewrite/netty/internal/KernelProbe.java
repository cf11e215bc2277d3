package io.github.onewrite.netty.internal;

import io.github.onewrite.internal.Stamps;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelOption;
import io.netty.channel.socket.SocketChannel;
import io.netty.channel.unix.IntegerUnixChannelOption;
import io.netty.channel.unix.RawUnixChannelOption;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * TCP_INFO of one connection, through Netty's native transports for Linux. The raw option copies the whole struct of
 * linux/tcp.h: {@code EpollSocketChannel.tcpInfo} leaves out its end. A kernel whose struct is shorter gives no evidence.
 */
final class KernelProbe {
    static final String QUICKACK = "onewrite.quickack";

    private static final int IPPROTO_TCP = 6;
    private static final int TCP_INFO = 11;
    private static final int TCP_QUICKACK = 12;
    private static final int LENGTH = 192;

    // Offsets in struct tcp_info.
    private static final int LAST_DATA_SENT_MS = 44;
    private static final int LAST_DATA_RECV_MS = 52;
    private static final int RTT_US = 68;
    private static final int TOTAL_RETRANS = 100;
    private static final int MIN_RTT_US = 148;
    private static final int DATA_SEGS_OUT = 156;
    private static final int RWND_LIMITED_US = 176;

    /** Loaded for native channels only: these classes are an optional dependency. */
    private static final class Options {
        static final RawUnixChannelOption INFO =
                new RawUnixChannelOption("ONEWRITE_TCP_INFO", IPPROTO_TCP, TCP_INFO, LENGTH);
        static final IntegerUnixChannelOption ACK =
                new IntegerUnixChannelOption("ONEWRITE_TCP_QUICKACK", IPPROTO_TCP, TCP_QUICKACK);
    }

    private final Channel channel;

    /** The last reading, and how many requests were sent after it. */
    private @Nullable ByteBuffer before;

    private int requests;

    KernelProbe(Channel channel) {
        this.channel = channel;
    }

    /** By name: Netty's native transports are an optional dependency. */
    static boolean isNative(Channel channel) {
        String name = channel.getClass().getName();
        return channel instanceof SocketChannel && (name.contains(".epoll.") || name.contains(".uring."));
    }

    /** A request begins. Only sending changes the counters that are compared, so an older reading serves as well. */
    void begin() {
        before = before == null ? read() : before;
        requests++;
    }

    /** The first byte of its response was read. */
    void end(Stamps record) {
        ByteBuffer since = before;
        ByteBuffer now = read();
        boolean isAlone = requests == 1;
        before = now;
        requests = 0;
        if (since == null || now == null) {
            return;
        }
        record.evidence(
                System.nanoTime(),
                isAlone ? grown(since, now, DATA_SEGS_OUT) : -1,
                unsigned(now, RTT_US),
                unsigned(now, MIN_RTT_US),
                grown(since, now, TOTAL_RETRANS),
                unsigned(now, LAST_DATA_SENT_MS),
                unsigned(now, LAST_DATA_RECV_MS),
                TimeUnit.MICROSECONDS.toNanos(now.getLong(RWND_LIMITED_US) - since.getLong(RWND_LIMITED_US)),
                record.writes < 2 || Boolean.TRUE.equals(channel.config().getOption(ChannelOption.TCP_NODELAY)));
    }

    private @Nullable ByteBuffer read() {
        ByteBuffer info = channel.isOpen() ? channel.config().getOption(Options.INFO) : null;
        return info == null || info.limit() < LENGTH ? null : info.order(ByteOrder.nativeOrder());
    }

    private static long grown(ByteBuffer since, ByteBuffer now, int offset) {
        return (now.getInt(offset) - since.getInt(offset)) & 0xffffffffL;
    }

    private static long unsigned(ByteBuffer info, int offset) {
        return info.getInt(offset) & 0xffffffffL;
    }

    /** Sets TCP_QUICKACK after each read: the kernel resets it. */
    static final class AtOnce extends ChannelInboundHandlerAdapter {
        @Override
        public void channelReadComplete(ChannelHandlerContext ctx) {
            ctx.channel().config().setOption(Options.ACK, 1);
            ctx.fireChannelReadComplete();
        }
    }
}
