package io.github.onewrite.netty.internal;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.channel.ChannelPromise;
import io.netty.channel.DefaultFileRegion;
import io.netty.channel.FileRegion;
import io.netty.handler.ssl.SslHandler;
import java.nio.ByteBuffer;
import java.nio.channels.WritableByteChannel;

/**
 * Below the HTTP codec: lets the start of a body leave with its head. The transport gathers up to twice the send buffer,
 * and sends the head alone before a buffer that does not fit (IovArray, ChannelOutboundBuffer.nioBuffers): so such a
 * buffer is cut. A file up to {@code joinMax} bytes is read, because sendfile is another write. TLS takes what it is given.
 */
class BodyStart extends ChannelDuplexHandler {
    static final String NAME = "onewrite.bytes";

    /** Head and body of this size leave in one gathering write whatever the send buffer. */
    private static final int SURELY_GATHERED = 8 * 1024;

    private final int joinMax;

    /** @param joinMax size of a file that is read; 0 where nothing is joined */
    BodyStart(int joinMax) {
        this.joinMax = joinMax;
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
        if (joinMax > 0 && message instanceof ByteBuf bytes) {
            int room = room(ctx);
            if (bytes.readableBytes() > room && room > 0 && !isSecure(ctx)) {
                // Slices: the buffer may be the caller's, who keeps it.
                ctx.write(bytes.retainedSlice(bytes.readerIndex(), room));
                ctx.write(bytes.retainedSlice(bytes.readerIndex() + room, bytes.readableBytes() - room), promise);
                bytes.release();
                return;
            }
        } else if (joinMax > 0 && message instanceof FileRegion region && isShort(region) && !isSecure(ctx)) {
            writeFile(ctx, region, promise);
            return;
        }
        ctx.write(message, promise);
    }

    /** How much more surely leaves with the head that waits; 0 where none waits. */
    private static int room(ChannelHandlerContext ctx) {
        ChannelOutboundBuffer buffer = ctx.channel().unsafe().outboundBuffer();
        long waits = buffer == null ? 0 : buffer.totalPendingWriteBytes();
        return waits == 0 ? 0 : (int) Math.max(0, SURELY_GATHERED - waits);
    }

    private static boolean isSecure(ChannelHandlerContext ctx) {
        return ctx.pipeline().get(SslHandler.class) != null;
    }

    /** Of Netty's own type: what another does when it is read is not known. */
    private boolean isShort(FileRegion region) {
        return region.getClass() == DefaultFileRegion.class && size(region) > 0 && size(region) <= joinMax;
    }

    /** What cannot be read is left to the transport, which fails the write and closes the channel. */
    private static void writeFile(ChannelHandlerContext ctx, FileRegion region, ChannelPromise promise) {
        int size = (int) size(region);
        ByteBuf content = ctx.alloc().buffer(size);
        try (WritableByteChannel target = new Room(content)) {
            long read = 1;
            while (content.isWritable() && read > 0) {
                read = region.transferTo(target, region.transferred());
            }
        } catch (Throwable e) {
            // The transport meets the same error.
        }
        if (content.readableBytes() == size) {
            region.release();
            ctx.write(content, promise);
        } else {
            ctx.write(content);
            ctx.write(region, promise);
        }
    }

    /** Takes as many bytes as the buffer has room for. */
    private record Room(ByteBuf content) implements WritableByteChannel {
        @Override
        public int write(ByteBuffer source) {
            int size = Math.min(source.remaining(), content.writableBytes());
            content.writeBytes(source.slice(source.position(), size));
            source.position(source.position() + size);
            return size;
        }

        @Override
        public boolean isOpen() {
            return true;
        }

        @Override
        public void close() {
            // There is nothing to close.
        }
    }
}
