package io.github.onewrite.driver;

import java.nio.ByteBuffer;
import java.util.List;
import java.util.concurrent.Executors;
import java.util.concurrent.Flow;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;

/** Publishes chunks on demand: at once where there is no pause, else as a timer's task. */
final class Chunks implements Flow.Publisher<ByteBuffer> {
    private static final ScheduledExecutorService TIMER = Executors.newSingleThreadScheduledExecutor(task -> {
        Thread thread = new Thread(task, "driver-chunks");
        thread.setDaemon(true);
        return thread;
    });

    private final List<byte[]> chunks;
    private final long gapMs;
    private ScheduledExecutorService timer = TIMER;

    Chunks(List<byte[]> chunks, long gapMs) {
        this.chunks = chunks;
        this.gapMs = gapMs;
    }

    /**
     * Pauses are tasks of the connection's event loop: for a client that requests chunks before it has sent the previous
     * ones. A loop that runs late then does not find two chunks to be sent together.
     */
    Chunks pacedBy(ScheduledExecutorService loop) {
        timer = loop;
        return this;
    }

    @Override
    public void subscribe(Flow.Subscriber<? super ByteBuffer> subscriber) {
        subscriber.onSubscribe(new Emission(subscriber));
    }

    private final class Emission implements Flow.Subscription {
        private final Flow.Subscriber<? super ByteBuffer> subscriber;
        private long demand;
        private int next;
        private boolean emitting;
        private boolean over;

        Emission(Flow.Subscriber<? super ByteBuffer> subscriber) {
            this.subscriber = subscriber;
        }

        @Override
        public synchronized void request(long n) {
            demand = demand + n < 0 ? Long.MAX_VALUE : demand + n;
            if (!emitting) {
                emitting = true;
                go();
            }
        }

        /** Emits what was requested, up to the next pause. The loop also sees what is requested while it runs. */
        private void go() {
            while (demand > 0 && !over) {
                if (gapMs > 0 && next > 0 && next < chunks.size()) {
                    timer.schedule(this::afterPause, gapMs, TimeUnit.MILLISECONDS);
                    return;
                }
                emit();
            }
            emitting = false;
        }

        private synchronized void afterPause() {
            if (!over) {
                emit();
                go();
            }
        }

        private void emit() {
            demand--;
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
    }
}
