package io.github.onewrite.netty.internal;

import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.handler.proxy.ProxyHandler;
import java.net.InetSocketAddress;
import org.jspecify.annotations.Nullable;

/**
 * Above Netty's proxy handler: stamps the end of its CONNECT exchange, before TLS begins and there is a codec. Loaded only
 * where there is one: Netty's proxy handlers are an optional dependency.
 */
final class TunnelHandler extends ChannelInboundHandlerAdapter {
    static final String NAME = "onewrite.tunnel";

    private final ConnectTimes times;

    TunnelHandler(ConnectTimes times) {
        this.times = times;
    }

    /** Host and port of the proxy. */
    static @Nullable String address(ChannelHandler proxy) {
        return ((ProxyHandler) proxy).proxyAddress() instanceof InetSocketAddress address
                ? NettySetup.hostAndPort(address.getHostString(), address.getPort())
                : null;
    }

    @Override
    public void userEventTriggered(ChannelHandlerContext ctx, Object event) {
        if (event.getClass().getSimpleName().equals("ProxyConnectionEvent")) {
            ctx.pipeline().remove(this);
            times.connected();
        }
        ctx.fireUserEventTriggered(event);
    }
}
