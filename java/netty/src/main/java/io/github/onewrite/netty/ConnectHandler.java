package io.github.onewrite.netty;

import io.github.onewrite.internal.TimedCall;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelOutboundHandlerAdapter;
import io.netty.channel.ChannelPromise;
import java.net.SocketAddress;

/**
 * The handler next to the socket. Before a connection is made it reads TCP_NODELAY back, so that a socket without it is
 * refused before a byte is sent; and it stamps the connect, for the call that the connection is made for.
 */
public final class ConnectHandler extends ChannelOutboundHandlerAdapter {
    private final TimedConnection connection;
    private final boolean nodelay;

    /** @param nodelay false where the option is left to the user */
    public ConnectHandler(TimedConnection connection, boolean nodelay) {
        this.connection = connection;
        this.nodelay = nodelay;
    }

    @Override
    public void connect(ChannelHandlerContext ctx, SocketAddress remote, SocketAddress local, ChannelPromise promise) {
        if (nodelay && !Nodelay.ensured(ctx.channel())) {
            promise.tryFailure(Nodelay.refusal(remote));
            ctx.close();
            return;
        }
        TimedCall maker = connection.maker();
        if (maker == null) {
            ctx.connect(remote, local, promise);
            return;
        }
        maker.attempt();
        maker.step(timer -> {
            // The resolver may report on another event loop, after its result is used.
            timer.dnsEnd(null);
            timer.connectStart();
        });
        ctx.connect(remote, local, promise.unvoid().addListener(done -> {
            // A failed connect leaves the phase open: the client may try the next address, or end the attempt.
            if (done.isSuccess() && !connection.tunnels()) {
                connection.connected();
            }
        }));
    }
}
