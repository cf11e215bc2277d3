package io.github.onewrite.client.internal;

import io.github.onewrite.netty.ByteCounter;
import io.github.onewrite.spi.CallTimer;
import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;
import io.netty.util.ReferenceCountUtil;
import org.jspecify.annotations.Nullable;

/**
 * Between the HTTP codec and TLS or the socket. Counts the bytes written, stamps the first byte of the response, and
 * passes each byte to the {@link ResponseGuard} before the decoder.
 */
final class GuardHandler extends ChannelDuplexHandler {
    private final Connection connection;
    private final ByteCounter counter = new ByteCounter();
    private final ResponseGuard guard = new ResponseGuard();
    private @Nullable CallTimer timer;

    GuardHandler(Connection connection) {
        this.connection = connection;
    }

    /**
     * Begins a request.
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
        if (!connection.expectsResponse()) {
            // Not passed to the decoder, where half a line would become part of the next response.
            ReferenceCountUtil.release(message);
            connection.strayBytes();
            return;
        }
        if (timer != null) {
            counter.read();
        }
        if (message instanceof ByteBuf bytes) {
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
