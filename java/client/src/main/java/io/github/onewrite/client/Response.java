package io.github.onewrite.client;

import io.netty.handler.codec.http.HttpHeaders;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;

/**
 * A response, read to its end.
 *
 * @param headers as received; names compare without regard to case
 * @param body the bytes themselves, not a copy
 */
public record Response(int status, HttpHeaders headers, byte[] body) {

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
