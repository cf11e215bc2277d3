package io.github.onewrite.netty;

import io.github.onewrite.Kernel;
import io.netty.channel.Channel;
import io.netty.channel.epoll.EpollChannelOption;
import io.netty.channel.epoll.EpollSocketChannel;
import io.netty.channel.unix.RawUnixChannelOption;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * TCP_INFO through Netty's epoll transport. Loaded only where the epoll classes are.
 *
 * <p>{@code EpollSocketChannel.tcpInfo} copies the first 32 fields only; the raw option copies the whole struct of
 * linux/tcp.h, with segment counters and receive-window time. Fields that an older kernel does not have stay 0.
 */
final class EpollProbe implements KernelProbe {
    private static final int IPPROTO_TCP = 6;
    private static final int TCP_INFO = 11;
    private static final int LENGTH = 192;
    private static final RawUnixChannelOption INFO =
            new RawUnixChannelOption("ONEWRITE_TCP_INFO", IPPROTO_TCP, TCP_INFO, LENGTH);

    // Offsets in struct tcp_info.
    private static final int LAST_DATA_SENT_MS = 44;
    private static final int RTT_US = 68;
    private static final int TOTAL_RETRANS = 100;
    private static final int MIN_RTT_US = 148;
    private static final int DATA_SEGS_OUT = 156;
    private static final int RWND_LIMITED_US = 176;

    private final EpollSocketChannel channel;
    private @Nullable ByteBuffer before;

    private EpollProbe(EpollSocketChannel channel) {
        this.channel = channel;
    }

    /** The probe of an epoll channel, null for any other. */
    static @Nullable KernelProbe of(Channel channel) {
        return channel instanceof EpollSocketChannel epoll ? new EpollProbe(epoll) : null;
    }

    @Override
    public void begin(boolean read) {
        // The counters change only while a request is sent, so the last reading is the baseline of the next.
        before = !read ? null : before == null ? read() : before;
    }

    @Override
    public @Nullable Evidence end(long waitedNanos) {
        ByteBuffer since = before;
        ByteBuffer now = read();
        before = now;
        if (since == null || now == null) {
            return null;
        }
        long sinceSent = TimeUnit.MILLISECONDS.toNanos(unsigned(now, LAST_DATA_SENT_MS));
        long minRtt = unsigned(now, MIN_RTT_US);
        long segments = grown(since, now, DATA_SEGS_OUT);
        return new Evidence(
                new Kernel(
                        segments == 0 ? -1 : segments,
                        unsigned(now, RTT_US),
                        minRtt == 0 ? -1 : minRtt,
                        grown(since, now, TOTAL_RETRANS),
                        Math.max(0, waitedNanos - sinceSent)),
                TimeUnit.MICROSECONDS.toNanos(now.getLong(RWND_LIMITED_US) - since.getLong(RWND_LIMITED_US)),
                () -> !channel.config().isTcpNoDelay());
    }

    @Override
    public void quickack() {
        channel.config().setOption(EpollChannelOption.TCP_QUICKACK, true);
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
