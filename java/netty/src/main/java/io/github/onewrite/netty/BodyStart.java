package io.github.onewrite.netty;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufOutputStream;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;
import io.netty.channel.DefaultFileRegion;
import io.netty.channel.FileRegion;
import io.netty.handler.ssl.SslHandler;
import java.nio.channels.Channels;
import java.nio.channels.WritableByteChannel;

/**
 * Below the codec: lets the start of a large body leave with its head. The transport gathers up to twice the send buffer,
 * and would send the head alone before a buffer that does not fit (IovArray, ChannelOutboundBuffer.nioBuffers): so such a
 * buffer is cut. A small file is read, because sendfile would be a second write. TLS takes what it is given.
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
        int size = (int) (region.count() - region.transferred());
        ByteBuf content = ctx.alloc().buffer(size);
        read(region, content);
        fileIsRead = content.readableBytes() == size;
        if (fileIsRead) {
            region.release();
            ctx.write(content, promise);
            return;
        }
        if (ctx.channel().getClass().getName().contains(".uring.")) {
            content.release();
        } else {
            ctx.write(content);
        }
        ctx.write(region, promise);
    }

    /**
     * Netty's own files, and the multipart messages of AsyncHttpClient, of which each part would be a write. What another
     * type does when it is read is not known.
     */
    private boolean isReadable(FileRegion region) {
        return (region.getClass() == DefaultFileRegion.class
                        || region.getClass().getName().startsWith("org.asynchttpclient.netty."))
                && region.count() > region.transferred()
                && region.count() - region.transferred() <= joinMax;
    }

    /** Fills the buffer, if the file has as many bytes. */
    private static void read(FileRegion region, ByteBuf content) {
        try (WritableByteChannel target = Channels.newChannel(new ByteBufOutputStream(content))) {
            long read = 1;
            while (region.transferred() < region.count() && read > 0) {
                read = region.transferTo(target, region.transferred());
            }
        } catch (Throwable e) {
            // The transport meets the same error.
        }
    }
}
