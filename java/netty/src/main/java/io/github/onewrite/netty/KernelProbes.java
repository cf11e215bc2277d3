package io.github.onewrite.netty;

import io.netty.channel.Channel;
import org.jspecify.annotations.Nullable;

/** Makes the probe of a channel without needing the optional classes of Netty's native transports. */
final class KernelProbes {
    private static final boolean LINUX = System.getProperty("os.name", "").startsWith("Linux");
    private static final boolean PRESENT = LINUX && isPresent("io.netty.channel.unix.RawUnixChannelOption");

    private KernelProbes() {}

    /** Null where TCP_INFO cannot be read. */
    static @Nullable KernelProbe of(Channel channel) {
        return PRESENT ? KernelProbe.of(channel) : null;
    }

    private static boolean isPresent(String name) {
        try {
            Class.forName(name, false, KernelProbes.class.getClassLoader());
            return true;
        } catch (ClassNotFoundException | LinkageError e) {
            return false;
        }
    }
}
