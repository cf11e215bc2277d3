package io.github.onewrite.netty;

import io.github.onewrite.internal.CallTimer;
import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;
import io.netty.channel.FileRegion;
import io.netty.util.ReferenceCountUtil;
import org.jspecify.annotations.Nullable;

/**
 * Sits where HTTP's bytes meet TLS or the socket. Counts what is handed over, and stamps the first byte that comes
 * back: the codec above answers only when a whole head is there, which may be later.
 */
final class WireHandler extends ChannelDuplexHandler {
    private @Nullable Connection connection;
    private @Nullable CallTimer timer;
    private final ResponseGuard guard = new ResponseGuard();
    private boolean pending;
    private long bytes;
    private int writes;
    private long firstRead;
    private long lastRead;

    void serve(Connection owner) {
        connection = owner;
    }

    /**
     * Begins a request. Nothing is stamped unless it is timed.
     *
     * @param head whether its method is HEAD
     */
    void begin(@Nullable CallTimer with, boolean head) {
        timer = with;
        bytes = 0;
        writes = 0;
        firstRead = 0;
        guard.expectHead(head);
    }

    /** Bytes of HTTP handed over since {@link #begin}. */
    long bytes() {
        return bytes;
    }

    /** Times such bytes were flushed. The transport may need several system calls for a large one. */
    int writes() {
        return writes;
    }

    /** When the first byte of the response was read. */
    long firstRead() {
        return firstRead == 0 ? lastRead : firstRead;
    }

    /** What was read so far was an interim response: the final one starts with what follows. */
    void interimRead() {
        firstRead = 0;
    }

    @Override
    public void write(ChannelHandlerContext ctx, Object message, ChannelPromise promise) {
        if (message instanceof ByteBuf buffer) {
            bytes += buffer.readableBytes();
            pending |= buffer.isReadable();
        } else if (message instanceof FileRegion region) {
            bytes += region.count();
            pending = true;
        }
        ctx.write(message, promise);
    }

    @Override
    public void flush(ChannelHandlerContext ctx) {
        if (pending) {
            pending = false;
            if (writes++ == 0 && timer != null) {
                timer.requestStart();
            }
        }
        ctx.flush();
    }

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object message) {
        if (connection != null && connection.exchange() == null) {
            // Nobody asked: before the decoder sees it, or half a line would wait there for the next response.
            ReferenceCountUtil.release(message);
            connection.strayBytes();
            return;
        }
        if (timer != null) {
            lastRead = System.nanoTime();
            if (firstRead == 0) {
                firstRead = lastRead;
            }
        }
        if (message instanceof ByteBuf bytes && connection != null) {
            String fault = guard.read(bytes);
            if (fault != null) {
                bytes.release();
                connection.refuse(fault);
                return;
            }
        }
        ctx.fireChannelRead(message);
    }
}
