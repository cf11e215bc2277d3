package io.github.onewrite.netty.internal;

import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;
import io.netty.handler.ssl.SslCloseCompletionEvent;
import io.netty.handler.ssl.SslHandshakeCompletionEvent;
import io.netty.util.concurrent.PromiseNotifier;
import java.net.SocketAddress;
import java.nio.channels.ClosedChannelException;
import org.jspecify.annotations.Nullable;

/** Stamps the steps of a connect. */
abstract class ConnectSteps extends ChannelDuplexHandler {
    /** By name: Netty's proxy handlers are an optional dependency. */
    private static final String TUNNEL_OPEN = "io.netty.handler.proxy.ProxyConnectionEvent";

    /** Null where nothing is timed. */
    final @Nullable NettyConnection connection;

    ConnectSteps(@Nullable NettyConnection connection) {
        this.connection = connection;
    }

    @Override
    public void connect(ChannelHandlerContext ctx, SocketAddress remote, SocketAddress local, ChannelPromise promise) {
        NettyConnection timed = connection;
        if (timed == null) {
            ctx.connect(remote, local, promise);
            return;
        }
        timed.connecting();
        // Another promise: its listener runs before those of the program, which may write.
        ChannelPromise connected = ctx.newPromise().addListener(done -> {
            if (done.isSuccess()) {
                timed.active();
            }
        });
        PromiseNotifier.cascade(connected, promise);
        ctx.connect(remote, local, connected);
    }

    /** Reactor Netty passes this on when its handshake is over, and other clients connect without {@link #connect}. */
    @Override
    public void channelActive(ChannelHandlerContext ctx) {
        if (connection != null) {
            connection.active();
        }
        ctx.fireChannelActive();
    }

    @Override
    public void userEventTriggered(ChannelHandlerContext ctx, Object event) {
        if (connection != null) {
            if (event instanceof SslHandshakeCompletionEvent done && done.isSuccess()) {
                connection.secured(); // Of a handler that was added after the connect.
            } else if (event instanceof SslCloseCompletionEvent) {
                connection.error(new ClosedChannelException()); // The peer closes; a client may close next.
            } else if (event.getClass().getName().equals(TUNNEL_OPEN)) {
                connection.connected();
            }
        }
        ctx.fireUserEventTriggered(event);
    }
}
