package io.github.onewrite.internal.netty;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;
import io.netty.channel.FileRegion;

/**
 * Sits where HTTP's bytes meet TLS or the socket. Counts what is handed over, and stamps the first byte that comes
 * back: the codec above answers only when a whole head is there, which may be later.
 */
public final class WireHandler extends ChannelDuplexHandler {
    private final Wire wire;
    private final boolean quickack;

    /** @param quickack whether reads are acknowledged at once, where the transport can */
    public WireHandler(Wire wire, boolean quickack) {
        this.wire = wire;
        this.quickack = quickack;
    }

    /** The same, to be put elsewhere: a handler cannot be added twice. */
    WireHandler again() {
        return new WireHandler(wire, quickack);
    }

    @Override
    public void write(ChannelHandlerContext ctx, Object message, ChannelPromise promise) {
        if (message instanceof ByteBuf buffer) {
            wire.wrote(buffer.readableBytes());
        } else if (message instanceof FileRegion region) {
            wire.wrote(region.count());
        }
        ctx.write(message, promise);
    }

    @Override
    public void flush(ChannelHandlerContext ctx) {
        wire.flushed();
        ctx.flush();
    }

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object message) {
        wire.read();
        ctx.fireChannelRead(message);
    }

    @Override
    public void channelReadComplete(ChannelHandlerContext ctx) {
        if (quickack) {
            wire.quickack();
        }
        ctx.fireChannelReadComplete();
    }

    @Override
    public void channelInactive(ChannelHandlerContext ctx) {
        ctx.fireChannelInactive();
        wire.closed();
    }

    @Override
    public void userEventTriggered(ChannelHandlerContext ctx, Object event) {
        // By name: the proxy handlers are an optional part of Netty.
        if (wire.tunnels() && event.getClass().getSimpleName().equals("ProxyConnectionEvent")) {
            wire.connected();
        }
        ctx.fireUserEventTriggered(event);
    }
}
