package io.github.onewrite.client.internal;

import io.github.onewrite.OnewriteException;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http.DefaultHttpContent;
import io.netty.handler.codec.http.DefaultLastHttpContent;
import io.netty.handler.codec.http.HttpContent;

/** Sends bytes in memory: as one message with the head; a large body in slices. */
final class FixedSender extends BodySender {
    /** Above this a body is not handed over whole: the transport, or TLS, would copy all of it at once. */
    private static final int WHOLE = 1024 * 1024;

    private static final int SLICE = 256 * 1024;

    private final ByteBuf rest;

    FixedSender(Exchange exchange, BodySource.Bytes body) {
        super(exchange);
        rest = body.size() == 0 ? Unpooled.EMPTY_BUFFER : Unpooled.wrappedBuffer(body.bytes());
    }

    @Override
    boolean hasBody() {
        return rest.isReadable();
    }

    @Override
    void start() throws OnewriteException {
        if (rest.readableBytes() <= WHOLE) {
            writeLast(full(rest));
        } else {
            super.start();
        }
    }

    @Override
    void sendBody() {
        pump();
    }

    /** A slice shares the body's memory; an unpooled wrapper needs no release. */
    @Override
    HttpContent next() {
        return rest.readableBytes() <= WHOLE
                ? new DefaultLastHttpContent(rest)
                : new DefaultHttpContent(rest.readRetainedSlice(SLICE));
    }
}
