package io.github.onewrite.client;

import io.github.onewrite.client.internal.Timekeeper;
import io.netty.channel.EventLoop;
import java.time.Duration;
import java.util.Comparator;
import java.util.PriorityQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

/** A clock that only {@link #advance} moves. Tasks that fall due run on their loop, in order, before it returns. */
final class FakeTime implements Timekeeper {
    private record Due(long at, long number, EventLoop loop, Runnable task, CompletableFuture<Void> future) {}

    private final PriorityQueue<Due> planned =
            new PriorityQueue<>(Comparator.comparingLong(Due::at).thenComparingLong(Due::number));
    private long now = 1_000_000_000_000L;
    private long count;

    @Override
    public synchronized long nanoTime() {
        return now;
    }

    @Override
    public synchronized Future<?> after(long nanos, EventLoop loop, Runnable task) {
        CompletableFuture<Void> future = new CompletableFuture<>();
        planned.add(new Due(now + Math.max(0, nanos), count++, loop, task, future));
        return future;
    }

    /** The number of tasks that are planned. */
    synchronized long planned() {
        return planned.stream().filter(due -> !due.future().isDone()).count();
    }

    void advance(Duration by) throws Exception {
        long until = nanoTime() + by.toNanos();
        for (Due next = next(until); next != null; next = next(until)) {
            Due due = next;
            due.loop()
                    .submit(() -> {
                        if (due.future().complete(null)) {
                            due.task().run();
                        }
                    })
                    .get(30, TimeUnit.SECONDS);
        }
        synchronized (this) {
            now = until;
        }
    }

    private synchronized Due next(long until) {
        Due first = planned.peek();
        if (first == null || first.at() > until) {
            return null;
        }
        now = Math.max(now, first.at());
        return planned.poll();
    }
}
