package io.github.onewrite.client.internal;

import io.github.onewrite.ErrorKind;
import io.github.onewrite.OnewriteException;
import io.github.onewrite.client.StreamedResponse;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.channel.EventLoop;
import io.netty.handler.codec.http.HttpHeaders;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.Objects;
import java.util.concurrent.Flow;
import org.jspecify.annotations.Nullable;

/** Hands the body on as it comes, and stops reading the socket while there is no demand. */
public final class StreamedSink implements ResponseSink, Flow.Publisher<ByteBuffer> {
    private final CallFuture<StreamedResponse> future;
    private final ArrayDeque<ByteBuffer> queue = new ArrayDeque<>();
    /** Null until the head is there. */
    private @Nullable Exchange source;

    private @Nullable EventLoop loop;

    /** Whether the source still has its connection. */
    private boolean attached;

    private Flow.@Nullable Subscriber<? super ByteBuffer> subscriber;
    private long demand;
    private boolean delivering;
    private boolean ended;
    private boolean over;
    private @Nullable Throwable failure;

    public StreamedSink(CallFuture<StreamedResponse> future) {
        this.future = future;
    }

    @Override
    public void head(Exchange from, int status, HttpHeaders headers) {
        source = from;
        loop = from.connection().channel().eventLoop();
        attached = true;
        from.setAutoRead(false);
        future.succeed(new StreamedResponse(status, headers, this, this::abandon), this::abandon);
    }

    @Override
    public @Nullable OnewriteException content(ByteBuf bytes) {
        if (bytes.isReadable()) {
            queue.addLast(ByteBuffer.wrap(ByteBufUtil.getBytes(bytes)));
            deliver();
        }
        return null;
    }

    @Override
    public boolean wantsMore() {
        return demand > 0;
    }

    @Override
    public void detach() {
        Exchange from = source;
        if (attached && from != null) {
            attached = false;
            from.setAutoRead(true);
        }
    }

    @Override
    public void end() {
        ended = true;
        deliver();
    }

    @Override
    public void failed(OnewriteException why) {
        if (source == null) {
            future.fail(why);
            return;
        }
        failure = why;
        ended = true;
        deliver();
    }

    /** @return false when the loop has been shut down */
    private boolean onLoop(Runnable step) {
        return OnLoop.ifItRuns(Objects.requireNonNull(loop, "no response yet"), step);
    }

    private void abandon() {
        onLoop(this::drop);
    }

    /** Discards the rest: the connection is closed, unless the response was read to its end. */
    private void drop() {
        over = true;
        queue.clear();
        abandonExchange();
    }

    @Override
    public void subscribe(Flow.Subscriber<? super ByteBuffer> given) {
        Objects.requireNonNull(given, "subscriber");
        if (!onLoop(() -> subscribed(given))) {
            refuse(given, new OnewriteException(ErrorKind.POOL, "the client is closed, and the body with it"));
        }
    }

    private void subscribed(Flow.Subscriber<? super ByteBuffer> given) {
        if (subscriber != null) {
            refuse(given, new IllegalStateException("the body has a subscriber already: it can be read once"));
            return;
        }
        subscriber = given;
        Flow.Subscription subscription = new Flow.Subscription() {
            @Override
            public void request(long n) {
                onLoop(() -> requested(n));
            }

            @Override
            public void cancel() {
                abandon();
            }
        };
        if (signalled(given, () -> given.onSubscribe(subscription))) {
            deliver();
        }
    }

    private static void refuse(Flow.Subscriber<? super ByteBuffer> given, Exception why) {
        Flow.Subscription none = new Flow.Subscription() {
            @Override
            public void request(long n) {}

            @Override
            public void cancel() {}
        };
        if (contained(() -> given.onSubscribe(none)) == null) {
            contained(() -> given.onError(why));
        }
    }

    private void requested(long n) {
        if (n <= 0) {
            failure = new IllegalArgumentException("demand is to be positive, not " + n);
            ended = true;
            queue.clear();
            abandonExchange();
        } else {
            demand = demand + n < 0 ? Long.MAX_VALUE : demand + n;
        }
        deliver();
    }

    private void abandonExchange() {
        if (source != null) {
            source.abandon();
        }
    }

    private void deliver() {
        Flow.Subscriber<? super ByteBuffer> to = subscriber;
        if (to == null || over || delivering) {
            return;
        }
        delivering = true;
        while (demand > 0 && !over && !queue.isEmpty()) {
            demand--;
            ByteBuffer next = queue.removeFirst();
            if (!signalled(to, () -> to.onNext(next))) {
                break;
            }
        }
        delivering = false;
        if (ended && queue.isEmpty() && !over) {
            over = true;
            Throwable why = failure;
            contained(why == null ? to::onComplete : () -> to.onError(why));
        } else if (demand > 0 && attached && source != null) {
            source.readMore();
        }
    }

    /** A subscriber that throws has cancelled (Reactive Streams, 2.13). onError lets it release resources. */
    private boolean signalled(Flow.Subscriber<? super ByteBuffer> to, Runnable signal) {
        Throwable thrown = contained(signal);
        if (thrown == null) {
            return true;
        }
        drop();
        contained(() -> to.onError(thrown));
        return false;
    }

    /** Catches everything: the caller on the stack may belong to another call. */
    private static @Nullable Throwable contained(Runnable signal) {
        try {
            signal.run();
            return null;
        } catch (Throwable e) {
            System.getLogger("io.github.onewrite")
                    .log(System.Logger.Level.WARNING, "the subscriber of a response's body threw", e);
            return e;
        }
    }
}
