package io.github.onewrite.netty;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;
import io.netty.channel.FileRegion;
import org.jspecify.annotations.Nullable;

/**
 * Between the HTTP codec and TLS or the socket. Counts the bytes written, and stamps the first byte of the response: the
 * codec above reports a head only when it is complete.
 */
final class ByteHandler extends ChannelDuplexHandler {
    static final String NAME = "onewrite.bytes";

    private final NettyConnection connection;
    private final @Nullable BodyStart start;
    private final boolean quickack;

    /**
     * @param start null where writes are not joined
     * @param quickack whether reads are acknowledged at once, where the transport can
     */
    ByteHandler(NettyConnection connection, @Nullable BodyStart start, boolean quickack) {
        this.connection = connection;
        this.start = start;
        this.quickack = quickack && connection.probe() != null;
    }

    /** The bytes of a message for the transport, without the first piece of a file that went before. */
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
        Exchange exchange = connection.writing();
        exchange.wrote(size(message));
        ChannelPromise written = exchange.first(promise);
        if (start == null) {
            ctx.write(message, written);
        } else {
            start.write(ctx, message, written);
        }
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

    @Override
    public void channelReadComplete(ChannelHandlerContext ctx) {
        KernelProbe probe = connection.probe();
        if (quickack && probe != null) {
            probe.quickack();
        }
        ctx.fireChannelReadComplete();
    }
}
