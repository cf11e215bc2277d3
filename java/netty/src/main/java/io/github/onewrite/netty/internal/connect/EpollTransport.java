package io.github.onewrite.netty.internal.connect;

import io.netty.channel.epoll.Epoll;
import io.netty.channel.epoll.EpollEventLoopGroup;
import io.netty.channel.epoll.EpollSocketChannel;

/** Netty's native Linux transport. Loaded only where its classes are. */
final class EpollTransport {
    private EpollTransport() {}

    static boolean available() {
        return Epoll.isAvailable();
    }

    /** The class of Netty 4.1, deprecated in 4.2 but there: one build serves both. */
    @SuppressWarnings("deprecation")
    static Transport create(int threads) {
        if (!Epoll.isAvailable()) {
            throw new IllegalStateException("epoll is not available here", Epoll.unavailabilityCause());
        }
        return new Transport(new EpollEventLoopGroup(threads, Transport.threads()), EpollSocketChannel::new, true);
    }
}
