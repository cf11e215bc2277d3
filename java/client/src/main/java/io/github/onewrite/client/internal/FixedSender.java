package io.github.onewrite.client.internal;

import io.github.onewrite.netty.CoalesceHandler;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http.DefaultHttpContent;
import io.netty.handler.codec.http.DefaultLastHttpContent;

/** Sends bytes in memory: in one flush with the head; a large body in slices, as the socket takes them. */
final class FixedSender extends BodySender {
    /** Above this a body is not handed over whole: the transport, or TLS, would copy all of it at once. */
    private static final int WHOLE = 1024 * 1024;

    private static final int SLICE = 256 * 1024;

    private final ByteBuf rest;
    private boolean pumping;

    FixedSender(Exchange exchange, PreparedRequest request, BodySource.Bytes body) {
        super(exchange, request);
        rest = body.size() == 0 ? Unpooled.EMPTY_BUFFER : Unpooled.wrappedBuffer(body.bytes());
    }

    @Override
    boolean hasBody() {
        return rest.isReadable();
    }

    @Override
    boolean start() {
        int size = rest.readableBytes();
        if (size <= CoalesceHandler.SURELY_GATHERED || joinable() == 0 || (overTls() && size <= WHOLE)) {
            ctx.writeAndFlush(full(rest)).addListener(whenSent());
            return true;
        }
        int first = Math.min(size, writeHead());
        if (first > 0 && first < size) {
            ctx.write(new DefaultHttpContent(rest.readRetainedSlice(first))).addListener(whenFailed());
        }
        sendBody();
        return true;
    }

    @Override
    void sendBody() {
        pumping = true;
        writable();
    }

    @Override
    void writable() {
        while (pumping && ctx.channel().isWritable()) {
            if (rest.readableBytes() <= WHOLE) {
                pumping = false;
                ctx.writeAndFlush(new DefaultLastHttpContent(rest)).addListener(whenSent());
                return;
            }
            // A slice shares the body's memory; an unpooled wrapper needs no release.
            ctx.write(new DefaultHttpContent(rest.readRetainedSlice(SLICE))).addListener(whenFailed());
            exchange.sending();
            if (!ctx.channel().isWritable()) {
                ctx.flush();
            }
        }
    }

    @Override
    void cancel() {
        pumping = false;
    }
}
