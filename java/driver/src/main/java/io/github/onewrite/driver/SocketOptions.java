package io.github.onewrite.driver;

import io.netty.channel.ChannelOption;
import java.util.Map;

/** Socket options by their C names, for Netty. */
final class SocketOptions {
    private SocketOptions() {}

    /** Takes an option in Netty's own form. */
    interface Setter {
        <T> void set(ChannelOption<T> option, T value);
    }

    static void apply(Map<String, Integer> options, Setter to) {
        if (options != null) {
            options.forEach((name, value) -> apply(name, value, to));
        }
    }

    private static void apply(String name, int value, Setter to) {
        switch (name) {
            case "TCP_NODELAY" -> to.set(ChannelOption.TCP_NODELAY, value != 0);
            case "SO_KEEPALIVE" -> to.set(ChannelOption.SO_KEEPALIVE, value != 0);
            case "SO_REUSEADDR" -> to.set(ChannelOption.SO_REUSEADDR, value != 0);
            case "SO_SNDBUF" -> to.set(ChannelOption.SO_SNDBUF, value);
            case "SO_RCVBUF" -> to.set(ChannelOption.SO_RCVBUF, value);
            default -> throw new Skip("socket option " + name + " has no name in Netty");
        }
    }
}
