package io.github.onewrite.client;

import io.netty.channel.ChannelFactory;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.epoll.Epoll;
import io.netty.channel.epoll.EpollEventLoopGroup;
import io.netty.channel.epoll.EpollSocketChannel;
import io.netty.channel.nio.NioEventLoopGroup;
import io.netty.channel.socket.SocketChannel;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.netty.util.concurrent.DefaultThreadFactory;

/**
 * Event loops and the channels that belong to them.
 *
 * @param owned whether the client shuts the loops down
 */
record Transport(EventLoopGroup group, ChannelFactory<? extends SocketChannel> channels, boolean owned) {

    /**
     * Epoll where its native library is on the class path, else NIO. The classes are those of Netty 4.1, deprecated in
     * 4.2: one build serves both.
     */
    @SuppressWarnings("deprecation")
    static Transport preferred() {
        int threads = Math.min(4, Runtime.getRuntime().availableProcessors());
        DefaultThreadFactory factory = new DefaultThreadFactory("onewrite", true);
        try {
            if (Epoll.isAvailable()) {
                return new Transport(new EpollEventLoopGroup(threads, factory), EpollSocketChannel::new, true);
            }
        } catch (NoClassDefFoundError e) {
            // Its classes are optional.
        }
        return new Transport(new NioEventLoopGroup(threads, factory), NioSocketChannel::new, true);
    }
}
