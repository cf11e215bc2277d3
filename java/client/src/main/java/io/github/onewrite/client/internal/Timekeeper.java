package io.github.onewrite.client.internal;

import io.netty.channel.EventLoop;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

/** The clock and the scheduler of all time limits. */
public interface Timekeeper {
    /** The system's clock and the event loop's own schedule. */
    Timekeeper SYSTEM = new Timekeeper() {
        @Override
        public long nanoTime() {
            return System.nanoTime();
        }

        @Override
        public Future<?> after(long nanos, EventLoop loop, Runnable task) {
            return loop.schedule(task, nanos, TimeUnit.NANOSECONDS);
        }
    };

    /** As {@link System#nanoTime}. */
    long nanoTime();

    /** Runs the task on the loop after this time; at once if it is negative. */
    Future<?> after(long nanos, EventLoop loop, Runnable task);
}
