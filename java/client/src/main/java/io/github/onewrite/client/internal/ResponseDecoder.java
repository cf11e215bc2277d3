package io.github.onewrite.client.internal;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.handler.codec.http.HttpDecoderConfig;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpMessage;
import io.netty.handler.codec.http.HttpResponse;
import io.netty.handler.codec.http.HttpResponseDecoder;
import io.netty.handler.codec.http.HttpStatusClass;
import io.netty.handler.codec.http.LastHttpContent;
import io.netty.util.ReferenceCountUtil;
import java.util.List;

/**
 * Netty's response decoder behind a {@link ResponseGuard}, less lenient, and without the queue of methods that HttpClientCodec keeps for pipelining:
 * a connection here has one request in flight.
 */
final class ResponseDecoder extends HttpResponseDecoder {
    private static final int MAX_CHUNK = 8192;

    private final Connection connection;
    private final ResponseGuard guard = new ResponseGuard();
    private boolean head;
    private boolean interim;
    private boolean complete;
    private boolean leftover;

    ResponseDecoder(Connection connection, ClientSettings settings) {
        super(new HttpDecoderConfig()
                .setMaxInitialLineLength(settings.maxStatusLine())
                .setMaxHeaderSize(settings.maxHeaderBytes())
                .setMaxChunkSize(MAX_CHUNK)
                .setStrictLineParsing(true));
        this.connection = connection;
    }

    /** @param ofHead whether the next response is one to HEAD */
    void expect(boolean ofHead) {
        head = ofHead;
        guard.expectHead(ofHead);
        complete = false;
        leftover = false;
    }

    /** Whether bytes came after the end of the response. */
    boolean hasLeftover() {
        return leftover || actualReadableBytes() > 0;
    }

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object message) throws Exception {
        if (!connection.expectsResponse()) {
            // Not decoded, because half a line would become part of the next response.
            ReferenceCountUtil.release(message);
            connection.strayBytes();
            return;
        }
        String fault = message instanceof ByteBuf bytes ? guard.read(bytes) : null;
        if (fault == null) {
            super.channelRead(ctx, message);
        } else {
            ReferenceCountUtil.release(message);
            connection.refuse(fault);
        }
    }

    /** Bytes after the response are dropped: Netty skips line ends and NUL there, and keeps a line for the next response. */
    @Override
    protected void decode(ChannelHandlerContext ctx, ByteBuf bytes, List<Object> out) throws Exception {
        if (complete) {
            leftover = true;
            bytes.skipBytes(bytes.readableBytes());
            return;
        }
        int before = out.size();
        super.decode(ctx, bytes, out);
        for (int i = before; i < out.size(); i++) {
            Object part = out.get(i);
            if (part instanceof HttpResponse response) {
                interim = response.status().codeClass() == HttpStatusClass.INFORMATIONAL;
            }
            complete |= part instanceof LastHttpContent && !interim;
        }
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
