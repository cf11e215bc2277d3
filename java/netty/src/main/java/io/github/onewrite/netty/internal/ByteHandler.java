package io.github.onewrite.netty.internal;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.channel.ChannelPromise;
import io.netty.channel.FileRegion;
import io.netty.handler.ssl.SslHandler;

/**
 * Between the HTTP codec and TLS or the socket. Counts the bytes written, and stamps the first byte of the response: the
 * codec above reports a head only when it is complete.
 *
 * <p>Cuts a large buffer behind a head that waits: the transport gathers up to twice the send buffer, and sends the head
 * alone before a buffer that does not fit (IovArray, ChannelOutboundBuffer.nioBuffers). TLS takes what it is given.
 */
final class ByteHandler extends ChannelDuplexHandler {
    static final String NAME = "onewrite.bytes";

    /** Head and body of this size leave in one gathering write whatever the send buffer. */
    private static final int SURELY_GATHERED = 8 * 1024;

    private final NettyConnection connection;
    private final boolean joins;

    ByteHandler(NettyConnection connection, boolean joins) {
        this.connection = connection;
        this.joins = joins;
    }

    /** The bytes of a message for the transport. */
    static long size(Object message) {
        if (message instanceof ByteBuf buffer) {
            return buffer.readableBytes();
        }
        try {
            return message instanceof FileRegion region ? region.count() - region.transferred() : 0;
        } catch (Throwable e) {
            // A region of the caller's, which fails the write when the transport calls it.
            return 0;
        }
    }

    @Override
    public void write(ChannelHandlerContext ctx, Object message, ChannelPromise promise) {
        ChannelPromise stamped = connection.writing().wrote(size(message), promise);
        if (joins && message instanceof ByteBuf bytes) {
            int room = room(ctx);
            if (room > 0 && bytes.readableBytes() > room && ctx.pipeline().get(SslHandler.class) == null) {
                // Slices: the buffer may be the caller's, who keeps it.
                ctx.write(bytes.retainedSlice(bytes.readerIndex(), room));
                ctx.write(bytes.retainedSlice(bytes.readerIndex() + room, bytes.readableBytes() - room), stamped);
                bytes.release();
                return;
            }
        }
        ctx.write(message, stamped);
    }

    /** How much more surely leaves with the head that waits; 0 where none waits. */
    private static int room(ChannelHandlerContext ctx) {
        ChannelOutboundBuffer buffer = ctx.channel().unsafe().outboundBuffer();
        long waits = buffer == null ? 0 : buffer.totalPendingWriteBytes();
        return waits == 0 ? 0 : (int) Math.max(0, SURELY_GATHERED - waits);
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
