package io.github.onewrite.client.internal;

import io.github.onewrite.ErrorKind;
import io.github.onewrite.OnewriteException;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http.DefaultHttpContent;
import io.netty.handler.codec.http.LastHttpContent;
import java.nio.ByteBuffer;
import java.util.Objects;
import java.util.concurrent.Flow;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** Sends the buffers of a publisher, at the pace of the socket. */
final class PublishedSender extends BodySender implements Flow.Subscriber<ByteBuffer> {
    /** After so many chunks the event loop serves others: a fast publisher and a fast peer would keep it for good. */
    private static final int CHUNKS_PER_TURN = 16;

    private final BodySource.Published body;
    private Flow.@Nullable Subscription subscription;
    private boolean pulling;
    private boolean pullAgain;
    private boolean blocked;
    private boolean over;
    private long published;

    PublishedSender(Exchange exchange, BodySource.Published body) {
        super(exchange);
        this.body = body;
    }

    @Override
    boolean hasBody() {
        return body.length() != 0;
    }

    @Override
    void sendBody() {
        body.publisher().subscribe(this);
        ctx.flush(); // of the head, which waits for the first chunk no longer than CoalesceHandler has it
    }

    @Override
    public void onSubscribe(Flow.Subscription given) {
        Objects.requireNonNull(given, "subscription");
        onLoop(() -> {
            if (over || subscription != null) {
                cancel(given);
                return;
            }
            subscription = given;
            pull();
        });
    }

    @Override
    public void onNext(ByteBuffer chunk) {
        Objects.requireNonNull(chunk, "chunk");
        onLoop(() -> send(chunk));
    }

    @Override
    public void onError(Throwable cause) {
        Objects.requireNonNull(cause, "cause");
        onLoop(() -> {
            if (!over) {
                over = true;
                exchange.sendFailed(
                        new OnewriteException(ErrorKind.OTHER, "the body's publisher failed: " + cause, cause));
            }
        });
    }

    @Override
    public void onComplete() {
        onLoop(() -> {
            if (over) {
                return;
            }
            if (body.length() >= 0 && published != body.length()) {
                wrongLength(published + " bytes");
                return;
            }
            over = true;
            writeLast(LastHttpContent.EMPTY_LAST_CONTENT);
        });
    }

    private void send(ByteBuffer chunk) {
        if (over) {
            return;
        }
        int size = chunk.remaining();
        if (body.length() >= 0 && published + size > body.length()) {
            wrongLength("more than that");
            return;
        }
        published += size;
        // An empty chunk would be the terminator (RFC 9112, 7.1).
        if (size > 0) {
            write(new DefaultHttpContent(Unpooled.wrappedBuffer(chunk)));
            exchange.sending();
        }
        ctx.flush();
        if (ctx.channel().isWritable()) {
            pull();
        } else {
            blocked = true;
        }
    }

    @Override
    void writable() {
        if (blocked && !over) {
            blocked = false;
            pull();
        }
    }

    @Override
    void cancel() {
        over = true;
        Flow.Subscription from = subscription;
        if (from != null) {
            cancel(from);
        }
    }

    /** Its exceptions are not passed on: they would replace the call's own error. */
    private static void cancel(Flow.Subscription from) {
        try {
            from.cancel();
        } catch (Throwable e) {
            System.getLogger("io.github.onewrite")
                    .log(System.Logger.Level.WARNING, "the publisher of a body threw when it was cancelled", e);
        }
    }

    /** Asks for one chunk more. A publisher may answer within request(): a loop here keeps the stack flat. */
    private void pull() {
        if (pulling) {
            pullAgain = true;
            return;
        }
        Flow.Subscription from = subscription;
        if (from == null) {
            return;
        }
        pulling = true;
        pullAgain = true;
        try {
            for (int i = 0; pullAgain && !over; i++) {
                if (i == CHUNKS_PER_TURN) {
                    // Scheduled, not executed: tasks that are queued now run before the sockets are served.
                    ctx.executor().schedule(this::pull, 0, TimeUnit.NANOSECONDS);
                    break;
                }
                pullAgain = false;
                from.request(1);
            }
        } catch (Throwable e) {
            over = true;
            exchange.sendFailed(Failures.ofBody(e));
        } finally {
            pulling = false;
        }
    }

    private void wrongLength(String found) {
        cancel();
        exchange.sendFailed(new OnewriteException(
                ErrorKind.OTHER,
                "the body was announced as " + body.length() + " bytes, its publisher brought " + found
                        + "; the connection is closed"));
    }

    private void onLoop(Runnable step) {
        if (ctx.executor().inEventLoop()) {
            step.run();
        } else {
            ctx.executor().execute(step);
        }
    }
}
