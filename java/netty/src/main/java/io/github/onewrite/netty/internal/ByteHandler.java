package io.github.onewrite.netty.internal;

import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;

/**
 * Between the HTTP codec and TLS or the socket. Counts the bytes written, and stamps the first byte of the response: the
 * codec above reports a head only when it is complete.
 */
final class ByteHandler extends BodyStart {
    private final NettyConnection connection;

    ByteHandler(NettyConnection connection, int joinMax) {
        super(joinMax);
        this.connection = connection;
    }

    @Override
    public void write(ChannelHandlerContext ctx, Object message, ChannelPromise promise) {
        super.write(ctx, message, connection.writing().wrote(size(message), promise));
    }

    @Override
    public void flush(ChannelHandlerContext ctx) {
        connection.flushes();
        ctx.flush();
        connection.flushed();
    }

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object message) {
        connection.read();
        ctx.fireChannelRead(message);
    }
}
