package io.github.onewrite.netty;

import io.github.onewrite.OnewriteException;
import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http.HttpHeaders;
import org.jspecify.annotations.Nullable;

/** Where a response goes. Called on the event loop. */
interface ResponseSink {

    void head(Call call, Exchange exchange, int status, HttpHeaders headers);

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
