package io.github.onewrite.netty;

import io.github.onewrite.SocketCounts;
import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;
import io.netty.util.concurrent.PromiseNotifier;
import java.net.SocketAddress;
import org.jspecify.annotations.Nullable;

/** Next to the socket: sets TCP_NODELAY before the first byte and reads it back, stamps the connect, and the close. */
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
        if (nodelay != null) {
            Nodelay.ensured(ctx.channel());
        }
        ConnectTimes times = connection.times();
        times.connecting();
        // A promise of its own, so that its listener is called before those of the client, which may write.
        ChannelPromise connected = ctx.newPromise().addListener(done -> {
            // A failed connect leaves the phase open: the client may try the next address, or end the attempt.
            if (done.isSuccess() && !times.tunnels()) {
                times.connected();
            }
        });
        PromiseNotifier.cascade(connected, promise);
        ctx.connect(remote, local, connected);
    }

    @Override
    public void channelActive(ChannelHandlerContext ctx) {
        if (nodelay != null && !Nodelay.ensured(ctx.channel())) {
            nodelay.withoutNodelay();
        }
        ctx.fireChannelActive();
    }

    @Override
    public void channelInactive(ChannelHandlerContext ctx) {
        ctx.fireChannelInactive();
        connection.closed();
    }
}
