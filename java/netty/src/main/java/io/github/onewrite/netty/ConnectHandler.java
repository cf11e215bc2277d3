package io.github.onewrite.netty;

import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;
import java.net.SocketAddress;

/** Next to the socket: stamps the connect, and the close. */
final class ConnectHandler extends ChannelDuplexHandler {
    static final String NAME = "onewrite.connect";

    private final NettyConnection connection;

    ConnectHandler(NettyConnection connection) {
        this.connection = connection;
    }

    @Override
    public void connect(ChannelHandlerContext ctx, SocketAddress remote, SocketAddress local, ChannelPromise promise) {
        connection.connecting();
        ctx.connect(remote, local, promise.unvoid().addListener(done -> {
            // A failed connect leaves the phase open: the client may try the next address, or end the attempt.
            if (done.isSuccess() && !connection.tunnels()) {
                connection.connected();
            }
        }));
    }

    @Override
    public void channelInactive(ChannelHandlerContext ctx) {
        ctx.fireChannelInactive();
        connection.closed();
    }
}
