package io.github.onewrite.client.internal;

import io.github.onewrite.OnewriteException;
import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http.HttpHeaders;
import org.jspecify.annotations.Nullable;

/** Receives a response. Called on the event loop. */
public interface ResponseSink {

    /** The source of a response. */
    interface Source {
        /** Whether the socket is read without {@link #readMore}. */
        void setAutoRead(boolean on);

        /** Reads on; used while the caller's demand, not the socket, sets the pace. */
        void readMore();

        /** The caller has the response's headers and wants no more of it. */
        void abandon();
    }

    void head(Source source, int status, HttpHeaders headers);

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
