package io.github.onewrite.client;

import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.netty.channel.ChannelFactory;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.epoll.Epoll;
import io.netty.channel.epoll.EpollEventLoopGroup;
import io.netty.channel.epoll.EpollSocketChannel;
import io.netty.channel.nio.NioEventLoopGroup;
import io.netty.channel.socket.SocketChannel;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.netty.util.concurrent.DefaultThreadFactory;
import java.lang.reflect.InvocationTargetException;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;

/** Clients on each transport. A test is skipped where the kernel, or this version of Netty, lacks its transport. */
@SuppressWarnings("deprecation") // Netty 4.1 has no others
final class Transports {
    static final String[] ALL = {"nio", "epoll", "io_uring"};

    private static final ThreadFactory THREADS = new DefaultThreadFactory("test", true);

    private Transports() {}

    /** A client, and event loops that it does not shut down itself. */
    record Standing(OnewriteClient client, EventLoopGroup group) implements AutoCloseable {
        @Override
        public void close() {
            client.close();
            var ended = group.shutdownGracefully(0, 1, TimeUnit.SECONDS);
            assertTrue(ended.awaitUninterruptibly(30, TimeUnit.SECONDS), "the event loops have not ended");
        }
    }

    static Standing nio(OnewriteClientBuilder builder) {
        return on(new NioEventLoopGroup(1, THREADS), NioSocketChannel::new, builder);
    }

    static Standing on(
            EventLoopGroup group, ChannelFactory<? extends SocketChannel> channels, OnewriteClientBuilder builder) {
        return new Standing(builder.eventLoopGroup(group, channels).build(), group);
    }

    static Standing build(String transport, OnewriteClientBuilder builder) throws Exception {
        return switch (transport) {
            case "nio" -> nio(builder);
            case "epoll" -> {
                assumeTrue(Epoll.isAvailable(), () -> "no epoll: " + Epoll.unavailabilityCause());
                yield on(new EpollEventLoopGroup(1, THREADS), EpollSocketChannel::new, builder);
            }
            default -> on(ioUring(), ioUringChannels(), builder);
        };
    }

    /** By reflection: the tests also run with Netty 4.1, which does not have these classes. */
    private static EventLoopGroup ioUring() throws Exception {
        Class<?> uring = classOrSkip("io.netty.channel.uring.IoUring");
        boolean available = (boolean) uring.getMethod("isAvailable").invoke(null);
        Object cause = uring.getMethod("unavailabilityCause").invoke(null);
        assumeTrue(available, () -> "no io_uring: " + cause);
        Class<?> factory = Class.forName("io.netty.channel.IoHandlerFactory");
        Object handlers = Class.forName("io.netty.channel.uring.IoUringIoHandler")
                .getMethod("newFactory")
                .invoke(null);
        try {
            return (EventLoopGroup) Class.forName("io.netty.channel.MultiThreadIoEventLoopGroup")
                    .getConstructor(int.class, ThreadFactory.class, factory)
                    .newInstance(1, THREADS, handlers);
        } catch (InvocationTargetException e) {
            // A kernel with io_uring may refuse a ring: too little lockable memory, or a seccomp filter.
            assumeTrue(false, () -> "no ring: " + e.getCause());
            throw e;
        }
    }

    private static ChannelFactory<SocketChannel> ioUringChannels() throws Exception {
        var constructor =
                Class.forName("io.netty.channel.uring.IoUringSocketChannel").getConstructor();
        return () -> {
            try {
                return (SocketChannel) constructor.newInstance();
            } catch (ReflectiveOperationException e) {
                throw new IllegalStateException(e);
            }
        };
    }

    private static Class<?> classOrSkip(String name) {
        try {
            return Class.forName(name);
        } catch (ClassNotFoundException | LinkageError e) {
            assumeTrue(false, () -> "this Netty has no io_uring: " + e);
            throw new AssertionError(e);
        }
    }
}
