package io.github.onewrite.client;

import io.github.onewrite.netty.internal.Exchange;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http.EmptyHttpHeaders;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.TooLongHttpContentException;
import java.util.ArrayList;
import java.util.List;

/** A call whose response is collected in memory. */
final class Collecting extends Call<Response> {
    private final List<byte[]> pieces = new ArrayList<>(1);
    private int status;
    private HttpHeaders headers = EmptyHttpHeaders.INSTANCE;
    private long size;

    Collecting(OriginPool pool, Request request, HttpRequest message, Exchange timing) {
        super(pool, request, message, timing);
    }

    @Override
    void head(int code, HttpHeaders received) {
        status = code;
        headers = received;
    }

    @Override
    void content(ByteBuf bytes) {
        size += bytes.readableBytes();
        if (size > settings.maxBody) {
            fail(new TooLongHttpContentException(
                    "the response's body is longer than " + settings.maxBody + " bytes (maxBody)"));
        } else if (bytes.isReadable()) {
            pieces.add(ByteBufUtil.getBytes(bytes));
        }
    }

    @Override
    boolean wantsMore() {
        return true;
    }

    @Override
    void ended() {
        ByteBuf body = Unpooled.wrappedBuffer(pieces.toArray(byte[][]::new));
        answer(new Response(status, headers, ByteBufUtil.getBytes(body, 0, body.readableBytes(), false)));
    }
}
