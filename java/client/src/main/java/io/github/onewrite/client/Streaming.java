package io.github.onewrite.client;

import io.github.onewrite.netty.internal.Exchange;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpRequest;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.Objects;
import java.util.concurrent.Flow;
import java.util.concurrent.SubmissionPublisher;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** A call whose response is passed on as it arrives. The socket is not read while there is no demand. */
final class Streaming extends Call<StreamedResponse> implements Flow.Publisher<ByteBuffer>, Flow.Subscription {
    private final ArrayDeque<ByteBuffer> queue = new ArrayDeque<>();
    private Flow.@Nullable Subscriber<? super ByteBuffer> subscriber;
    private long demand;
    private boolean delivering;

    /** The last signal; null while more may be read. */
    private @Nullable Consumer<Flow.Subscriber<?>> end;

    /** Nothing more is signalled. */
    private boolean silent;

    Streaming(OriginPool pool, Request request, HttpRequest message, Exchange timing) {
        super(pool, request, message, timing);
    }

    @Override
    void head(int status, HttpHeaders headers) {
        readOnDemand();
        if (!answer(new StreamedResponse(status, headers, this, this::cancel))) {
            drop();
        }
    }

    @Override
    void content(ByteBuf bytes) {
        if (bytes.isReadable()) {
            queue.addLast(ByteBuffer.wrap(ByteBufUtil.getBytes(bytes)));
            deliver();
        }
    }

    @Override
    boolean wantsMore() {
        return demand > 0;
    }

    @Override
    void ended() {
        end = Flow.Subscriber::onComplete;
        deliver();
    }

    @Override
    void failed(Throwable why) {
        end = to -> to.onError(why);
        deliver();
    }

    /** Discards the rest. The connection is closed, unless the response was read to its end. */
    private void drop() {
        silent = true;
        queue.clear();
        abandon();
    }

    @Override
    public void subscribe(Flow.Subscriber<? super ByteBuffer> given) {
        Objects.requireNonNull(given, "subscriber");
        onLoop(() -> subscribed(given));
    }

    private void subscribed(Flow.Subscriber<? super ByteBuffer> given) {
        if (subscriber == null) {
            subscriber = given;
            signal(to -> to.onSubscribe(this));
            deliver();
        } else {
            SubmissionPublisher<ByteBuffer> refused = new SubmissionPublisher<>(Runnable::run, 1);
            refused.closeExceptionally(
                    new IllegalStateException("the body has a subscriber already: it can be read once"));
            refused.subscribe(given);
        }
    }

    @Override
    public void request(long n) {
        onLoop(() -> requested(n));
    }

    @Override
    public void cancel() {
        onLoop(this::drop);
    }

    private void requested(long n) {
        if (n <= 0) {
            queue.clear();
            abandon();
            failed(new IllegalArgumentException("demand must be positive, not " + n));
        } else {
            demand = demand + n < 0 ? Long.MAX_VALUE : demand + n;
            deliver();
        }
    }

    private void deliver() {
        if (subscriber == null || delivering) {
            return;
        }
        delivering = true;
        while (demand > 0 && !silent && !queue.isEmpty()) {
            demand--;
            ByteBuffer next = queue.removeFirst();
            signal(to -> to.onNext(next));
        }
        delivering = false;
        if (silent) {
            return;
        }
        if (end != null && queue.isEmpty()) {
            silent = true;
            signal(end::accept);
        } else if (demand > 0) {
            readMore();
        }
    }

    /**
     * Catches everything: the caller on the stack may belong to another call. A subscriber that throws has cancelled
     * (Reactive Streams, 2.13). onError lets it release resources.
     */
    private void signal(Consumer<Flow.Subscriber<? super ByteBuffer>> signal) {
        try {
            signal.accept(Objects.requireNonNull(subscriber));
        } catch (Throwable e) {
            System.getLogger("io.github.onewrite")
                    .log(System.Logger.Level.WARNING, "the subscriber of a response's body threw", e);
            if (!silent) {
                drop();
                signal(to -> to.onError(e));
            }
        }
    }
}
