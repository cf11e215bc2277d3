package io.github.onewrite.netty;

import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;

/** Above Netty's proxy handler: stamps the end of its CONNECT exchange, before TLS begins and there is a codec. */
final class TunnelHandler extends ChannelInboundHandlerAdapter {
    static final String NAME = "onewrite.tunnel";

    private final ConnectTimes times;

    TunnelHandler(ConnectTimes times) {
        this.times = times;
    }

    @Override
    public void userEventTriggered(ChannelHandlerContext ctx, Object event) {
        // Compared by name: Netty's proxy handlers are an optional dependency.
        if (event.getClass().getSimpleName().equals("ProxyConnectionEvent")) {
            ctx.pipeline().remove(this);
            times.connected();
        }
        ctx.fireUserEventTriggered(event);
    }
}
