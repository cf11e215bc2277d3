package io.github.onewrite.netty.internal.connect;

import io.github.onewrite.internal.CallTimer;
import io.github.onewrite.internal.netty.ByteCounter;
import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;
import io.netty.util.ReferenceCountUtil;
import org.jspecify.annotations.Nullable;

/**
 * Sits where HTTP's bytes meet TLS or the socket. Counts what is handed over, stamps the first byte that comes back, and
 * shows each byte to the {@link ResponseGuard} before the decoder has it.
 */
final class GuardHandler extends ChannelDuplexHandler {
    /** Who is told of bytes that are no part of a response. */
    interface Reader {
        boolean expectsResponse();

        /** Bytes came while nobody waited for any. */
        void strayBytes();

        /** What arrives is no response. */
        void refuse(String what);
    }

    private final Reader reader;
    private final ByteCounter counter = new ByteCounter();
    private final ResponseGuard guard = new ResponseGuard();
    private @Nullable CallTimer timer;

    GuardHandler(Reader reader) {
        this.reader = reader;
    }

    /**
     * Begins a request. Nothing is stamped unless it is timed.
     *
     * @param head whether its method is HEAD
     */
    void begin(@Nullable CallTimer with, boolean head) {
        timer = with;
        counter.begin();
        guard.expectHead(head);
    }

    ByteCounter counter() {
        return counter;
    }

    @Override
    public void write(ChannelHandlerContext ctx, Object message, ChannelPromise promise) {
        if (timer != null && counter.bytes() == 0) {
            timer.requestWrite();
        }
        counter.wrote(message);
        ctx.write(message, promise);
    }

    @Override
    public void flush(ChannelHandlerContext ctx) {
        if (counter.flushed() && timer != null) {
            timer.requestStart();
        }
        ctx.flush();
    }

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object message) {
        if (!reader.expectsResponse()) {
            // Before the decoder sees it, or half a line would wait there for the next response.
            ReferenceCountUtil.release(message);
            reader.strayBytes();
            return;
        }
        if (timer != null) {
            counter.read();
        }
        if (message instanceof ByteBuf bytes) {
            String fault = guard.read(bytes);
            if (fault != null) {
                bytes.release();
                reader.refuse(fault);
                return;
            }
        }
        ctx.fireChannelRead(message);
    }
}
