package io.github.onewrite.client;

import io.netty.handler.codec.http.HttpHeaders;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;

/** A response, read to its end. */
public final class Response {
    private final int status;
    private final HttpHeaders headers;
    private final byte[] body;

    /** For tests of code that is given a response. */
    public Response(int status, HttpHeaders headers, byte[] body) {
        this.status = status;
        this.headers = headers;
        this.body = body;
    }

    public int status() {
        return status;
    }

    /** As received; names compare without regard to case. */
    public HttpHeaders headers() {
        return headers;
    }

    /** The body itself, not a copy. */
    public byte[] body() {
        return body;
    }

    /** The body as UTF-8. */
    public String text() {
        return text(StandardCharsets.UTF_8);
    }

    public String text(Charset charset) {
        return new String(body, charset);
    }

    @Override
    public String toString() {
        return status + ", " + body.length + " bytes";
    }
}
