package io.github.onewrite.client;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Flow;
import java.util.concurrent.atomic.AtomicInteger;

/** Publishers of request bodies. */
final class Publishers {
    private Publishers() {}

    /** Publishes the texts on demand, on the thread that requests them. */
    static Flow.Publisher<ByteBuffer> of(String... texts) {
        return subscriber -> subscriber.onSubscribe(new Flow.Subscription() {
            private final ArrayDeque<String> left = new ArrayDeque<>(List.of(texts));
            private boolean over;

            @Override
            public void request(long n) {
                for (long i = 0; i < n && !over && !left.isEmpty(); i++) {
                    subscriber.onNext(ByteBuffer.wrap(left.removeFirst().getBytes(StandardCharsets.UTF_8)));
                }
                if (left.isEmpty() && !over) {
                    over = true;
                    subscriber.onComplete();
                }
            }

            @Override
            public void cancel() {
                over = true;
            }
        });
    }

    /** Publishes the texts on demand, and completes on the request after the last one. */
    static Flow.Publisher<ByteBuffer> completingLate(String... texts) {
        return subscriber -> subscriber.onSubscribe(new Flow.Subscription() {
            private final ArrayDeque<String> left = new ArrayDeque<>(List.of(texts));

            @Override
            public void request(long n) {
                if (left.isEmpty()) {
                    subscriber.onComplete();
                } else {
                    subscriber.onNext(ByteBuffer.wrap(left.removeFirst().getBytes(StandardCharsets.UTF_8)));
                }
            }

            @Override
            public void cancel() {
                left.clear();
            }
        });
    }

    /** Publishes blocks of 64 KiB on demand without end, and counts them. */
    static Flow.Publisher<ByteBuffer> endless(AtomicInteger published) {
        return subscriber -> subscriber.onSubscribe(new Flow.Subscription() {
            private volatile boolean over;

            @Override
            public void request(long n) {
                for (long i = 0; i < n && !over; i++) {
                    published.incrementAndGet();
                    subscriber.onNext(ByteBuffer.allocate(64 * 1024));
                }
            }

            @Override
            public void cancel() {
                over = true;
            }
        });
    }

    /** Of a publisher that publishes nothing. */
    static Flow.Subscription silent() {
        return new Flow.Subscription() {
            @Override
            public void request(long n) {}

            @Override
            public void cancel() {}
        };
    }

    /** Reads a body to its end, whatever comes. */
    static CompletableFuture<byte[]> collect(Flow.Publisher<ByteBuffer> body) {
        return collect(body, Long.MAX_VALUE);
    }

    /** Reads a body to its end, and requests each buffer. */
    static CompletableFuture<byte[]> collectOneByOne(Flow.Publisher<ByteBuffer> body) {
        return collect(body, 1);
    }

    private static CompletableFuture<byte[]> collect(Flow.Publisher<ByteBuffer> body, long demand) {
        CompletableFuture<byte[]> done = new CompletableFuture<>();
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        body.subscribe(new Flow.Subscriber<>() {
            private Flow.Subscription subscription;

            @Override
            public void onSubscribe(Flow.Subscription given) {
                subscription = given;
                given.request(demand);
            }

            @Override
            public void onNext(ByteBuffer item) {
                bytes.write(item.array(), 0, item.remaining());
                if (demand == 1) {
                    subscription.request(1);
                }
            }

            @Override
            public void onError(Throwable thrown) {
                done.completeExceptionally(thrown);
            }

            @Override
            public void onComplete() {
                done.complete(bytes.toByteArray());
            }
        });
        return done;
    }
}
