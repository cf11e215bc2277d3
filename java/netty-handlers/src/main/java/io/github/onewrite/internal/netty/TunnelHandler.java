package io.github.onewrite.internal.netty;

import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;

/** Sits above Netty's proxy handler, and hears when its tunnel stands: before TLS begins, and before a codec is there. */
final class TunnelHandler extends ChannelInboundHandlerAdapter {
    private final TimedConnection connection;

    TunnelHandler(TimedConnection connection) {
        this.connection = connection;
    }

    @Override
    public void userEventTriggered(ChannelHandlerContext ctx, Object event) {
        // By name: the proxy handlers are an optional part of Netty.
        if (event.getClass().getSimpleName().equals("ProxyConnectionEvent")) {
            ctx.pipeline().remove(this);
            connection.connected();
        }
        ctx.fireUserEventTriggered(event);
    }
}
