package io.github.onewrite.netty.internal;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;
import io.netty.channel.FileRegion;

/**
 * Between the HTTP codec and TLS or the socket, where a hook is set: counts the bytes and the writes, and stamps when bytes
 * come. The codec above reports a head only when it is complete.
 */
final class Wire extends ConnectSteps {
    static final String NAME = "onewrite.wire";

    private final NettyConnection timed;

    Wire(NettyConnection connection) {
        super(connection);
        this.timed = connection;
    }

    @Override
    public void write(ChannelHandlerContext ctx, Object message, ChannelPromise promise) {
        timed.wrote(message instanceof ByteBuf bytes ? bytes.readableBytes() : size(message));
        ctx.write(message, promise);
    }

    private static long size(Object message) {
        try {
            return message instanceof FileRegion region ? region.count() - region.transferred() : 0;
        } catch (Throwable e) {
            return 0; // A region of the program's: it fails the write when the transport asks it.
        }
    }

    @Override
    public void flush(ChannelHandlerContext ctx) {
        timed.flushes();
        ctx.flush();
    }

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object message) {
        timed.read();
        ctx.fireChannelRead(message);
    }
}
