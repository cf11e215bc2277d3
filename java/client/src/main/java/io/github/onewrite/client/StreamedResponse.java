package io.github.onewrite.client;

import io.netty.handler.codec.http.HttpHeaders;
import java.nio.ByteBuffer;
import java.util.concurrent.Flow;

/**
 * A response whose body is not read yet. Subscribe to {@link #body} and read it to its end, or {@link #close}: until then
 * it holds a connection.
 */
public final class StreamedResponse implements AutoCloseable {
    private final int status;
    private final HttpHeaders headers;
    private final Flow.Publisher<ByteBuffer> body;
    private final Runnable abandon;

    /**
     * For tests of code that is given a response.
     *
     * @param abandon run by {@link #close}
     */
    public StreamedResponse(int status, HttpHeaders headers, Flow.Publisher<ByteBuffer> body, Runnable abandon) {
        this.status = status;
        this.headers = headers;
        this.body = body;
        this.abandon = abandon;
    }

    public int status() {
        return status;
    }

    /** As received; names compare without regard to case. */
    public HttpHeaders headers() {
        return headers;
    }

    /**
     * The body, for one subscriber. The socket is read at the pace of the subscriber's demand. Signals come on the event
     * loop: they must not block. The buffers belong to the subscriber.
     */
    public Flow.Publisher<ByteBuffer> body() {
        return body;
    }

    /** Gives up the rest of the body and closes the connection. No effect once the body is read. */
    @Override
    public void close() {
        abandon.run();
    }
}
