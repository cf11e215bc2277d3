package io.github.onewrite.client;

import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http.DefaultHttpContent;
import io.netty.handler.codec.http.LastHttpContent;
import java.nio.ByteBuffer;
import java.util.Objects;
import java.util.concurrent.Flow;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** Writes a publisher's buffers at the pace of the socket. What the publisher throws, or does wrong, fails the call. */
final class Published implements Flow.Subscriber<ByteBuffer> {
    /** After so many chunks the event loop serves others: a fast publisher and a fast peer would keep it for good. */
    private static final int CHUNKS_PER_TURN = 16;

    private final Exchange<?> exchange;
    private Flow.@Nullable Subscription subscription;
    private boolean requested;
    private boolean pulling;
    private boolean over;

    Published(Exchange<?> exchange) {
        this.exchange = exchange;
    }

    @Override
    public void onSubscribe(Flow.Subscription given) {
        exchange.onLoop(() -> {
            if (over || subscription != null) {
                given.cancel();
            } else {
                subscription = given;
                pull();
            }
        });
    }

    @Override
    public void onNext(ByteBuffer chunk) {
        signal(() -> {
            Objects.requireNonNull(chunk, "the publisher of the body published null");
            if (!requested) {
                throw new IllegalStateException("the publisher of the body published more than was requested");
            }
            requested = false;
            if (chunk.hasRemaining()) { // an empty chunk would be the terminator (RFC 9112, 7.1)
                exchange.write(new DefaultHttpContent(Unpooled.wrappedBuffer(chunk)));
                exchange.context().flush();
            }
            pull();
        });
    }

    @Override
    public void onError(Throwable cause) {
        signal(() -> exchange.fail(Objects.requireNonNull(cause, "the publisher of the body failed with null")));
    }

    @Override
    public void onComplete() {
        signal(() -> {
            over = true;
            exchange.writeLast(LastHttpContent.EMPTY_LAST_CONTENT);
        });
    }

    /** Requests chunks one by one while the channel takes them. */
    void pull() {
        signal(() -> {
            if (pulling || requested || subscription == null) {
                return;
            }
            pulling = true;
            for (int i = 0; i < CHUNKS_PER_TURN && !over && !requested && isWritable(); i++) {
                requested = true;
                subscription.request(1);
            }
            pulling = false;
            if (!over && !requested && isWritable()) {
                // Scheduled, not executed: tasks that are queued now run before the sockets are served.
                exchange.context().executor().schedule(this::pull, 0, TimeUnit.NANOSECONDS);
            }
        });
    }

    private boolean isWritable() {
        return exchange.context().channel().isWritable();
    }

    /** Signals come from any thread, and within {@code request}. What follows the last one is ignored. */
    private void signal(Runnable signal) {
        exchange.onLoop(() -> {
            try {
                if (!over) {
                    signal.run();
                }
            } catch (Throwable e) {
                exchange.fail(e);
            }
        });
    }

    /** The call has ended. */
    void cancel() {
        signal(() -> {
            over = true;
            if (subscription != null) {
                subscription.cancel();
            }
        });
    }
}
