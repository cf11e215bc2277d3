package io.github.onewrite.client;

import io.netty.handler.codec.http.HttpHeaders;
import java.nio.ByteBuffer;
import java.util.concurrent.Flow;

/**
 * A response whose body is not read yet. Subscribe to {@link #body} and read it to its end, or {@link #close}: until then
 * it holds a connection.
 *
 * @param headers as received; names compare without regard to case
 * @param body for one subscriber. The socket is read at the pace of the subscriber's demand. Signals come on the event
 *     loop: they must not block. The buffers belong to the subscriber.
 * @param abandon run by {@link #close}
 */
public record StreamedResponse(int status, HttpHeaders headers, Flow.Publisher<ByteBuffer> body, Runnable abandon)
        implements AutoCloseable {

    /** Gives up the rest of the body and closes the connection. No effect once the body is read. */
    @Override
    public void close() {
        abandon.run();
    }
}
