package io.github.onewrite.netty.internal.connect;

import io.github.onewrite.netty.internal.ClientSettings;
import io.netty.handler.codec.http.HttpDecoderConfig;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpMessage;
import io.netty.handler.codec.http.HttpResponseDecoder;

/**
 * Netty's response decoder, less lenient, and without the queue of methods that HttpClientCodec keeps for pipelining:
 * a connection here has one request in flight.
 */
final class ResponseDecoder extends HttpResponseDecoder {
    private static final int MAX_CHUNK = 8192;

    private boolean head;

    ResponseDecoder(ClientSettings settings) {
        super(new HttpDecoderConfig()
                .setMaxInitialLineLength(settings.maxStatusLine())
                .setMaxHeaderSize(settings.maxHeaderBytes())
                .setMaxChunkSize(MAX_CHUNK)
                .setStrictLineParsing(true));
    }

    /** @param ofHead whether the next response is one to HEAD */
    void expect(boolean ofHead) {
        head = ofHead;
    }

    boolean hasLeftover() {
        return actualReadableBytes() > 0;
    }

    /** A response to HEAD has the headers of a body but none (RFC 9112, 6.3). */
    @Override
    protected boolean isContentAlwaysEmpty(HttpMessage message) {
        return head || super.isContentAlwaysEmpty(message);
    }

    /** Netty drops the Content-Length; RFC 9112, 6.3 says "ought to be handled as an error". */
    @Override
    protected void handleTransferEncodingChunkedWithContentLength(HttpMessage message) {
        throw new IllegalArgumentException(
                "both " + HttpHeaderNames.CONTENT_LENGTH + " and " + HttpHeaderNames.TRANSFER_ENCODING + " are set");
    }
}
