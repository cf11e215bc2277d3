package io.github.onewrite.netty;

import io.github.onewrite.ErrorKind;
import io.github.onewrite.OnewriteException;
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
    public static boolean ensured(Channel channel) {
        if (!(channel instanceof SocketChannel) || isOn(channel)) {
            return true;
        }
        channel.config().setOption(ChannelOption.TCP_NODELAY, true);
        return isOn(channel);
    }

    public static OnewriteException refusal(Object remote) {
        return new OnewriteException(
                ErrorKind.CONNECT,
                "TCP_NODELAY could not be set on a connection to " + remote
                        + "; set the channel option TCP_NODELAY to say what you want instead");
    }

    private static boolean isOn(Channel channel) {
        return Boolean.TRUE.equals(channel.config().getOption(ChannelOption.TCP_NODELAY));
    }
}
