package io.github.onewrite.netty.internal.exchange;

import io.github.onewrite.OnewriteException;
import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http.HttpHeaders;
import org.jspecify.annotations.Nullable;

/** Where a response goes. Called on the event loop. */
public interface ResponseSink {

    /** Where a response comes from. */
    interface Source {
        /** Whether the socket is read without being asked to. */
        void setAutoRead(boolean on);

        /** Reads on; used while the caller's demand, not the socket, sets the pace. */
        void readMore();

        /** The caller has the response's headers and wants no more of it. */
        void abandon();
    }

    void head(Source source, int status, HttpHeaders headers);

    /** Takes bytes of the body, which it copies. @return null, or why it wants no more */
    @Nullable
    OnewriteException content(ByteBuf bytes);

    /** Whether silence from the server is to be held against it: not while the caller is the slow one. */
    boolean wantsMore();

    /** The connection is about to be given back. */
    void detach();

    void end();

    void failed(OnewriteException why);
}
