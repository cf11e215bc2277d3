package io.github.onewrite.client.internal;

import io.github.onewrite.OnewriteException;
import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http.HttpHeaders;
import org.jspecify.annotations.Nullable;

/** Receives a response. Called on the event loop. */
public interface ResponseSink {

    void head(Exchange source, int status, HttpHeaders headers);

    /** Copies bytes of the body. @return null, or why the response is refused */
    @Nullable
    OnewriteException content(ByteBuf bytes);

    /** Whether silence of the server counts toward its timeout: not while the caller has no demand. */
    boolean wantsMore();

    /** The connection is about to be given back. */
    void detach();

    void end();

    void failed(OnewriteException why);
}
