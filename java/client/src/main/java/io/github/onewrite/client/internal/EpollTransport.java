package io.github.onewrite.client.internal;

import io.netty.channel.ChannelFactory;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.epoll.Epoll;
import io.netty.channel.epoll.EpollEventLoopGroup;
import io.netty.channel.epoll.EpollSocketChannel;
import java.util.concurrent.ThreadFactory;

/** Netty's native Linux transport. Loaded only where its classes are. */
final class EpollTransport {
    private EpollTransport() {}

    static boolean available() {
        return Epoll.isAvailable();
    }

    static ChannelFactory<EpollSocketChannel> channels() {
        return EpollSocketChannel::new;
    }

    /** The class of Netty 4.1, deprecated in 4.2 but there: one build serves both. */
    @SuppressWarnings("deprecation")
    static EventLoopGroup loops(int threads, ThreadFactory factory) {
        if (!Epoll.isAvailable()) {
            throw new IllegalStateException("epoll is not available here", Epoll.unavailabilityCause());
        }
        return new EpollEventLoopGroup(threads, factory);
    }
}
