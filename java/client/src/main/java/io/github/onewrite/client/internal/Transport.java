package io.github.onewrite.client.internal;

import io.netty.channel.ChannelFactory;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.epoll.Epoll;
import io.netty.channel.epoll.EpollEventLoopGroup;
import io.netty.channel.epoll.EpollSocketChannel;
import io.netty.channel.nio.NioEventLoopGroup;
import io.netty.channel.socket.SocketChannel;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.netty.util.concurrent.DefaultThreadFactory;
import java.util.concurrent.ThreadFactory;

/** Event loops and the channels that go with them. */
public record Transport(EventLoopGroup group, ChannelFactory<? extends SocketChannel> channels, boolean owned) {

    /** Epoll where its native library is on the class path, which the caller decided by putting it there; else NIO. */
    public static Transport preferred(int threads) {
        return epollClassesPresent() && Native.available() ? epoll(threads) : nio(threads);
    }

    /** The class of Netty 4.1, deprecated in 4.2 but there: one build serves both. */
    @SuppressWarnings("deprecation")
    public static Transport nio(int threads) {
        return new Transport(new NioEventLoopGroup(threads, threads()), NioSocketChannel::new, true);
    }

    public static Transport epoll(int threads) {
        if (!epollClassesPresent()) {
            throw new IllegalStateException(
                    "no epoll: add io.netty:netty-transport-native-epoll with the classifier of this platform");
        }
        return Native.transport(threads);
    }

    public static ThreadFactory threads() {
        return new DefaultThreadFactory("onewrite", true);
    }

    /** Netty's native Linux transport. Loaded only where its classes are. */
    private static final class Native {
        static boolean available() {
            return Epoll.isAvailable();
        }

        /** The class of Netty 4.1, as above. */
        @SuppressWarnings("deprecation")
        static Transport transport(int threads) {
            if (!Epoll.isAvailable()) {
                throw new IllegalStateException("epoll is not available here", Epoll.unavailabilityCause());
            }
            return new Transport(new EpollEventLoopGroup(threads, threads()), EpollSocketChannel::new, true);
        }
    }

    private static boolean epollClassesPresent() {
        try {
            Class.forName("io.netty.channel.epoll.EpollSocketChannel", false, Transport.class.getClassLoader());
            return true;
        } catch (ClassNotFoundException | LinkageError e) {
            return false;
        }
    }
}
