package io.github.onewrite.netty.internal;

import io.github.onewrite.internal.SocketCounts;
import io.netty.channel.Channel;
import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelOption;
import io.netty.channel.ChannelPromise;
import io.netty.channel.socket.SocketChannel;
import io.netty.util.concurrent.PromiseNotifier;
import java.net.SocketAddress;
import org.jspecify.annotations.Nullable;

/**
 * Next to the socket: reads TCP_NODELAY back before the first byte and sets it once more, stamps the connect, and the
 * close. Netty sets the option on every socket but swallows a failure (DefaultSocketChannelConfig), and a channel factory
 * may bring another configuration.
 */
final class ConnectHandler extends ChannelDuplexHandler {
    static final String NAME = "onewrite.connect";

    private final NettyConnection connection;
    private final @Nullable SocketCounts nodelay;

    ConnectHandler(NettyConnection connection, @Nullable SocketCounts nodelay) {
        this.connection = connection;
        this.nodelay = nodelay;
    }

    @Override
    public void connect(ChannelHandlerContext ctx, SocketAddress remote, SocketAddress local, ChannelPromise promise) {
        connection.times().connecting(remote);
        // Another promise: its listener runs before the listeners of the client, which may write.
        ChannelPromise connected = ctx.newPromise().addListener(done -> {
            // A failed connect leaves the phase open: the client may try the next address, or end the attempt.
            if (done.isSuccess()) {
                if (nodelay != null && !ensureNodelay(ctx.channel())) {
                    nodelay.withoutNodelay();
                }
                if (!connection.times().tunnels()) {
                    connection.times().connected();
                }
            }
        });
        PromiseNotifier.cascade(connected, promise);
        ctx.connect(remote, local, connected);
    }

    @Override
    public void channelInactive(ChannelHandlerContext ctx) {
        ctx.fireChannelInactive();
        connection.closed();
    }

    /** Whether the option is on, now or after it was set once more. True for a channel that is no TCP socket. */
    private static boolean ensureNodelay(Channel channel) {
        return !(channel instanceof SocketChannel)
                || isOn(channel)
                || (channel.config().setOption(ChannelOption.TCP_NODELAY, true) && isOn(channel));
    }

    private static boolean isOn(Channel channel) {
        return Boolean.TRUE.equals(channel.config().getOption(ChannelOption.TCP_NODELAY));
    }
}
