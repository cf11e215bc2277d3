package io.github.onewrite.netty.internal;

import io.github.onewrite.Cause;
import io.github.onewrite.Kernel;
import io.github.onewrite.internal.TimedCall;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelOption;
import io.netty.channel.unix.IntegerUnixChannelOption;
import io.netty.channel.unix.RawUnixChannelOption;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * TCP_INFO of one connection, through Netty's native transports for Linux: epoll and io_uring. Loaded for
 * their channels only.
 *
 * <p>{@code EpollSocketChannel.tcpInfo} copies the first 32 fields only; the raw option copies the whole struct of
 * linux/tcp.h, with segment counters and receive-window time. Fields that an older kernel does not have stay 0.
 */
final class KernelProbe {
    static final String QUICKACK = "onewrite.quickack";

    private static final int IPPROTO_TCP = 6;
    private static final int LENGTH = 192;
    private static final RawUnixChannelOption INFO =
            new RawUnixChannelOption("ONEWRITE_TCP_INFO", IPPROTO_TCP, 11, LENGTH);
    private static final IntegerUnixChannelOption ACK =
            new IntegerUnixChannelOption("ONEWRITE_TCP_QUICKACK", IPPROTO_TCP, 12);

    // Offsets in struct tcp_info.
    private static final int LAST_DATA_SENT_MS = 44;
    private static final int RTT_US = 68;
    private static final int TOTAL_RETRANS = 100;
    private static final int MIN_RTT_US = 148;
    private static final int DATA_SEGS_OUT = 156;
    private static final int RWND_LIMITED_US = 176;

    private final Channel channel;
    private @Nullable ByteBuffer before;

    /** @param channel over TCP */
    KernelProbe(Channel channel) {
        this.channel = channel;
    }

    /** A timed request begins. The counters change only while a request is sent: the last reading is the baseline. */
    void begin() {
        before = before == null ? read() : before;
    }

    /** A request that is not timed: the last reading is no baseline for the next one. */
    void forget() {
        before = null;
    }

    /**
     * Reads the evidence at the first byte of the response, if it can be read.
     *
     * @param writes in which the request was handed over
     */
    void end(TimedCall call, int writes) {
        long waitedNanos = call.waited();
        if (waitedNanos < 0) {
            return;
        }
        ByteBuffer since = before;
        ByteBuffer now = read();
        before = now;
        if (since == null || now == null) {
            return;
        }
        long sinceSent = TimeUnit.MILLISECONDS.toNanos(unsigned(now, LAST_DATA_SENT_MS));
        long held = Math.max(0, waitedNanos - sinceSent);
        long minRtt = unsigned(now, MIN_RTT_US);
        long segments = grown(since, now, DATA_SEGS_OUT);
        long retransmits = grown(since, now, TOTAL_RETRANS);
        long windowLimited =
                TimeUnit.MICROSECONDS.toNanos(now.getLong(RWND_LIMITED_US) - since.getLong(RWND_LIMITED_US));
        boolean nagle = writes > 1 && Boolean.FALSE.equals(channel.config().getOption(ChannelOption.TCP_NODELAY));
        call.kernel(
                new Kernel(
                        segments == 0 ? -1 : segments,
                        unsigned(now, RTT_US),
                        minRtt == 0 ? -1 : minRtt,
                        retransmits,
                        held),
                Cause.of(waitedNanos, held, retransmits, windowLimited, nagle));
    }

    /** Sets TCP_QUICKACK after each read: the kernel resets it. */
    final class AtOnce extends ChannelInboundHandlerAdapter {
        @Override
        public void channelReadComplete(ChannelHandlerContext ctx) {
            channel.config().setOption(ACK, 1);
            ctx.fireChannelReadComplete();
        }
    }

    private @Nullable ByteBuffer read() {
        ByteBuffer info = channel.isOpen() ? channel.config().getOption(INFO) : null;
        return info == null || info.limit() < LENGTH ? null : info.order(ByteOrder.nativeOrder());
    }

    private static long grown(ByteBuffer since, ByteBuffer now, int offset) {
        return (now.getInt(offset) - since.getInt(offset)) & 0xffffffffL;
    }

    private static long unsigned(ByteBuffer info, int offset) {
        return info.getInt(offset) & 0xffffffffL;
    }
}
