package io.github.onewrite.client;

import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http.DefaultHttpContent;
import io.netty.handler.codec.http.LastHttpContent;
import java.nio.ByteBuffer;
import java.util.Objects;
import java.util.concurrent.Executor;
import java.util.concurrent.Flow;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Writes a publisher's buffers at the pace of the socket. What the publisher throws, or does wrong, fails the call.
 *
 * <p>Those of the JDK may block in {@code request}, as BodyPublishers.ofInputStream does: they are called on threads that
 * may wait, not on the event loop, which serves other calls.
 */
final class Published implements Flow.Subscriber<ByteBuffer> {
    /** After so many chunks the event loop serves others: a fast publisher and a fast peer would keep it for good. */
    private static final int CHUNKS_PER_TURN = 16;

    /** Has no thread while no such body is read. */
    private static final Executor READERS =
            new ThreadPoolExecutor(0, Integer.MAX_VALUE, 1, TimeUnit.SECONDS, new SynchronousQueue<>(), task -> {
                Thread thread = new Thread(task, "onewrite-body");
                thread.setDaemon(true);
                return thread;
            });

    private final Call<?> call;
    private final Flow.Publisher<ByteBuffer> publisher;
    private final boolean blocks;
    private Flow.@Nullable Subscription subscription;
    private boolean requested;
    private boolean pulling;
    private boolean over;

    Published(Call<?> call, Flow.Publisher<ByteBuffer> publisher) {
        this.call = call;
        this.publisher = publisher;
        this.blocks = publisher.getClass().getName().startsWith("jdk.internal.net.http.");
    }

    void subscribe() {
        ask(() -> publisher.subscribe(this));
    }

    /** Calls the publisher. */
    private void ask(Runnable step) {
        if (!blocks) {
            step.run();
            return;
        }
        READERS.execute(() -> {
            try {
                step.run();
            } catch (Throwable e) {
                call.onLoop(() -> call.fail(e));
            }
        });
    }

    @Override
    public void onSubscribe(Flow.Subscription given) {
        call.onLoop(() -> {
            if (over || subscription != null) {
                ask(given::cancel);
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
                call.write(new DefaultHttpContent(Unpooled.wrappedBuffer(chunk)));
                call.channel().flush();
            }
            pull();
        });
    }

    @Override
    public void onError(Throwable cause) {
        signal(() -> call.fail(Objects.requireNonNull(cause, "the publisher of the body failed with null")));
    }

    @Override
    public void onComplete() {
        signal(() -> {
            over = true;
            call.writeLast(LastHttpContent.EMPTY_LAST_CONTENT);
        });
    }

    /** Requests chunks one by one while the channel takes them. */
    void pull() {
        signal(() -> {
            if (pulling || requested || subscription == null) {
                return;
            }
            pulling = true;
            Flow.Subscription from = subscription;
            for (int i = 0; i < CHUNKS_PER_TURN && !over && !requested && isWritable(); i++) {
                requested = true;
                ask(() -> from.request(1));
            }
            pulling = false;
            if (!over && !requested && isWritable()) {
                // Scheduled, not executed: tasks that are queued now run before the sockets are served.
                call.channel().eventLoop().schedule(this::pull, 0, TimeUnit.NANOSECONDS);
            }
        });
    }

    private boolean isWritable() {
        return call.channel().isWritable();
    }

    /** Signals come from any thread, and within {@code request}. What follows the last one is ignored. */
    private void signal(Runnable signal) {
        call.onLoop(() -> {
            try {
                if (!over) {
                    signal.run();
                }
            } catch (Throwable e) {
                call.fail(e);
            }
        });
    }

    /** The call has ended. */
    void cancel() {
        signal(() -> {
            over = true;
            if (subscription != null) {
                ask(subscription::cancel);
            }
        });
    }
}
