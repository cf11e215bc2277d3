package io.github.onewrite.netty.internal;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelOutboundHandlerAdapter;
import io.netty.channel.ChannelPromise;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/** The handler next to the socket. It records the messages and the bytes of each flush. */
final class Flushes extends ChannelOutboundHandlerAdapter {
    final List<Object> written = new CopyOnWriteArrayList<>();
    final List<Long> sizes = new CopyOnWriteArrayList<>();
    private long size;

    @Override
    public void write(ChannelHandlerContext ctx, Object message, ChannelPromise promise) {
        written.add(message instanceof ByteBuf bytes ? bytes.readableBytes() : message);
        size += message instanceof ByteBuf bytes ? bytes.readableBytes() : 0;
        ctx.write(message, promise);
    }

    @Override
    public void flush(ChannelHandlerContext ctx) {
        if (size > 0) {
            sizes.add(size);
            size = 0;
        }
        ctx.flush();
    }
}
