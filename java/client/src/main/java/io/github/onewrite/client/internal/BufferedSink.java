package io.github.onewrite.client.internal;

import io.github.onewrite.ErrorKind;
import io.github.onewrite.OnewriteException;
import io.github.onewrite.client.Response;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.handler.codec.http.EmptyHttpHeaders;
import io.netty.handler.codec.http.HttpHeaders;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/** Collects the body in memory and answers with the whole response. */
public final class BufferedSink implements ResponseSink {
    private static final byte[] NOTHING = new byte[0];

    private final CallFuture<Response> future;
    private final int maxBody;
    private int status;
    private HttpHeaders headers = EmptyHttpHeaders.INSTANCE;
    private byte[] body = NOTHING;
    private int size;

    public BufferedSink(CallFuture<Response> future, int maxBody) {
        this.future = future;
        this.maxBody = maxBody;
    }

    @Override
    public void head(Exchange source, int code, HttpHeaders received) {
        status = code;
        headers = received;
    }

    @Override
    public @Nullable OnewriteException content(ByteBuf bytes) {
        int more = bytes.readableBytes();
        if (more == 0) {
            return null;
        }
        if (more > maxBody - size) {
            return new OnewriteException(
                    ErrorKind.PROTOCOL,
                    "the response body is longer than " + maxBody + " bytes (maxBody); raise it, or stream the body");
        }
        if (size == 0) {
            body = ByteBufUtil.getBytes(bytes);
        } else {
            if (body.length < size + more) {
                body = Arrays.copyOf(body, Math.max(size + more, (int) Math.min(maxBody, body.length * 2L)));
            }
            bytes.getBytes(bytes.readerIndex(), body, size, more);
        }
        size += more;
        return null;
    }

    @Override
    public boolean wantsMore() {
        return true;
    }

    @Override
    public void detach() {}

    @Override
    public void end() {
        future.succeed(new Response(status, headers, size == body.length ? body : Arrays.copyOf(body, size)));
    }

    @Override
    public void failed(OnewriteException why) {
        future.fail(why);
    }
}
