package io.github.onewrite.netty;

import io.netty.channel.Channel;
import org.jspecify.annotations.Nullable;

/** Finds the probe of a channel without needing the optional epoll classes. */
public final class KernelProbes {
    private static final boolean EPOLL = epollClassesPresent();

    private KernelProbes() {}

    public static @Nullable KernelProbe of(Channel channel) {
        return EPOLL ? EpollProbe.of(channel) : null;
    }

    /** Whether the optional epoll classes are on the class path. */
    public static boolean epollClassesPresent() {
        try {
            Class.forName("io.netty.channel.epoll.EpollSocketChannel", false, KernelProbes.class.getClassLoader());
            return true;
        } catch (ClassNotFoundException | LinkageError e) {
            return false;
        }
    }
}
