package io.github.onewrite.driver;

import java.nio.ByteBuffer;
import java.util.List;
import java.util.concurrent.Executors;
import java.util.concurrent.Flow;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;

/** Publishes chunks on demand: at once where there is no gap, else from a timer's thread. */
final class Chunks implements Flow.Publisher<ByteBuffer> {
    private static final ScheduledExecutorService TIMER = Executors.newSingleThreadScheduledExecutor(task -> {
        Thread thread = new Thread(task, "driver-chunks");
        thread.setDaemon(true);
        return thread;
    });

    private final List<byte[]> chunks;
    private final long gapMs;

    Chunks(List<byte[]> chunks, long gapMs) {
        this.chunks = chunks;
        this.gapMs = gapMs;
    }

    @Override
    public void subscribe(Flow.Subscriber<? super ByteBuffer> subscriber) {
        subscriber.onSubscribe(new Flow.Subscription() {
            private int next;
            private boolean over;

            @Override
            public synchronized void request(long n) {
                for (long i = 0; i < n && !over; i++) {
                    if (gapMs > 0 && next > 0 && next < chunks.size()) {
                        TIMER.schedule(this::emit, gapMs, TimeUnit.MILLISECONDS);
                    } else {
                        emit();
                    }
                }
            }

            private synchronized void emit() {
                if (over) {
                    return;
                }
                if (next < chunks.size()) {
                    subscriber.onNext(ByteBuffer.wrap(chunks.get(next++)));
                }
                if (next == chunks.size() && !over) {
                    over = true;
                    subscriber.onComplete();
                }
            }

            @Override
            public synchronized void cancel() {
                over = true;
            }
        });
    }
}
