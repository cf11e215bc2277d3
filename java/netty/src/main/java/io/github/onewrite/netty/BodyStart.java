package io.github.onewrite.netty;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelProgressiveFuture;
import io.netty.channel.ChannelProgressiveFutureListener;
import io.netty.channel.ChannelProgressivePromise;
import io.netty.channel.ChannelPromise;
import io.netty.channel.DefaultFileRegion;
import io.netty.channel.FileRegion;
import io.netty.handler.ssl.SslHandler;
import java.nio.ByteBuffer;
import java.nio.channels.WritableByteChannel;

/**
 * Below the codec: lets the start of a large body leave with its head. The transport gathers up to twice the send buffer,
 * and would send the head alone before a buffer that does not fit (IovArray, ChannelOutboundBuffer.nioBuffers): so such a
 * buffer is cut. Of a file the start is read, because sendfile would be a second write; a small one is read whole. TLS
 * takes what it is given.
 */
final class BodyStart {
    /** Head and body of this size leave in one gathering write whatever the send buffer. */
    static final int SURELY_GATHERED = 8 * 1024;

    private final int joinMax;
    private final int gathered;

    /** How much more of this request surely leaves with the head. */
    private int room;

    private boolean readsFiles;
    private boolean fileIsRead;

    /** @param joinMax size of a file that is read whole */
    BodyStart(int joinMax) {
        this.joinMax = joinMax;
        this.gathered = Math.min(joinMax, SURELY_GATHERED);
    }

    /**
     * The head of a request is written next.
     *
     * @param joins whether its writes are joined
     * @param whole whether it is one message
     */
    void request(boolean joins, boolean whole) {
        readsFiles = joins;
        room = joins || whole ? gathered : 0;
    }

    /** Writes an encoded message, the start of a large one apart. */
    void write(ChannelHandlerContext ctx, Object message, ChannelPromise promise) {
        if (room > 0 && message instanceof ByteBuf bytes) {
            int size = bytes.readableBytes();
            boolean head = room == gathered;
            int piece = room;
            room -= Math.min(room, size);
            if (size > piece && !head && !isSecure(ctx)) {
                // Slices: the buffer may be the caller's, who keeps it.
                ctx.write(bytes.retainedSlice(bytes.readerIndex(), piece));
                ctx.write(bytes.retainedSlice(bytes.readerIndex() + piece, size - piece), promise);
                bytes.release();
                return;
            }
        } else if (readsFiles && message instanceof FileRegion region && isReadable(region) && !isSecure(ctx)) {
            writeFile(ctx, region, promise);
            return;
        }
        ctx.write(message, promise);
    }

    /** Whether a file was written from memory since the last call. */
    boolean takeFileIsRead() {
        boolean is = fileIsRead;
        fileIsRead = false;
        return is;
    }

    private static boolean isSecure(ChannelHandlerContext ctx) {
        return ctx.pipeline().get(SslHandler.class) != null;
    }

    /**
     * What cannot be read is left to the transport, which fails the write and closes the channel. io_uring sends a region
     * from its beginning, not from {@link FileRegion#transferred} on (IoUringFileRegion).
     */
    private void writeFile(ChannelHandlerContext ctx, FileRegion region, ChannelPromise promise) {
        long left = region.count() - region.transferred();
        boolean whole = left <= joinMax;
        boolean resumes = !ctx.channel().getClass().getName().contains(".uring.");
        ByteBuf content = ctx.alloc().buffer(whole ? (int) left : room);
        if (whole || (resumes && room > 0)) {
            read(region, content);
        }
        int size = content.readableBytes();
        room = 0;
        fileIsRead = size == left;
        if (fileIsRead) {
            region.release();
            ctx.write(content, promise);
        } else if (size > 0 && resumes) {
            ctx.write(content);
            ctx.write(region, promise instanceof ChannelProgressivePromise told ? behind(ctx, size, told) : promise);
        } else {
            content.release();
            ctx.write(region, promise);
        }
    }

    /** Reports the progress of a file whose first {@code size} bytes were written before. */
    private static ChannelPromise behind(ChannelHandlerContext ctx, int size, ChannelProgressivePromise told) {
        return ctx.newProgressivePromise().addListener(new ChannelProgressiveFutureListener() {
            @Override
            public void operationProgressed(ChannelProgressiveFuture future, long progress, long total) {
                told.tryProgress(size + progress, total);
            }

            @Override
            public void operationComplete(ChannelProgressiveFuture future) {
                if (future.isSuccess()) {
                    told.trySuccess();
                } else {
                    told.tryFailure(future.cause());
                }
            }
        });
    }

    /**
     * Netty's own files, and the multipart messages of AsyncHttpClient, of which each part would be a write. What another
     * type does when it is read is not known.
     */
    private static boolean isReadable(FileRegion region) {
        return (region.getClass() == DefaultFileRegion.class
                        || region.getClass().getName().startsWith("org.asynchttpclient.netty."))
                && region.count() > region.transferred();
    }

    /** Fills the buffer, if the file has as many bytes. */
    private static void read(FileRegion region, ByteBuf content) {
        try (WritableByteChannel target = new Room(content)) {
            long read = 1;
            while (content.isWritable() && read > 0) {
                read = region.transferTo(target, region.transferred());
            }
        } catch (Throwable e) {
            // The transport meets the same error.
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
