package io.github.onewrite.client;

import io.github.onewrite.netty.internal.Exchange;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.handler.codec.http.EmptyHttpHeaders;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.TooLongHttpContentException;
import java.util.Arrays;

/** A call whose response is collected in memory. */
final class Collecting extends Call<Response> {
    private static final byte[] NOTHING = new byte[0];

    private int status;
    private HttpHeaders headers = EmptyHttpHeaders.INSTANCE;
    private byte[] body = NOTHING;
    private int size;

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
        int more = bytes.readableBytes();
        if (more > settings.maxBody - size) {
            fail(new TooLongHttpContentException(
                    "the response's body is longer than " + settings.maxBody + " bytes (maxBody)"));
        } else if (size == 0) {
            body = more == 0 ? NOTHING : ByteBufUtil.getBytes(bytes);
            size = more;
        } else if (more > 0) {
            if (body.length < size + more) {
                body = Arrays.copyOf(body, Math.max(size + more, (int) Math.min(settings.maxBody, body.length * 2L)));
            }
            bytes.getBytes(bytes.readerIndex(), body, size, more);
            size += more;
        }
    }

    @Override
    boolean wantsMore() {
        return true;
    }

    @Override
    void ended() {
        answer(new Response(status, headers, size == body.length ? body : Arrays.copyOf(body, size)));
    }
}
