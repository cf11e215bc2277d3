package io.github.onewrite.netty;

import io.netty.channel.Channel;
import io.netty.channel.ChannelOption;
import io.netty.channel.socket.SocketChannel;

/**
 * Netty sets TCP_NODELAY on every socket but swallows a failure (DefaultSocketChannelConfig), and a channel factory may
 * bring its own configuration. So it is read back, and set where it is off.
 */
final class Nodelay {
    private Nodelay() {}

    /** Whether the option is on, now or after it was set once more. True for what is no TCP socket. */
    static boolean ensured(Channel channel) {
        if (!(channel instanceof SocketChannel) || isOn(channel)) {
            return true;
        }
        channel.config().setOption(ChannelOption.TCP_NODELAY, true);
        return isOn(channel);
    }

    private static boolean isOn(Channel channel) {
        return Boolean.TRUE.equals(channel.config().getOption(ChannelOption.TCP_NODELAY));
    }
}
