package io.github.onewrite.internal;

import java.util.concurrent.atomic.AtomicLong;

/** A connection of any client: what a call is told of the one it got. Two are equal only when they are the same. */
public interface PooledConnection {
    /** A number that no other connection of this process has. */
    static long nextId() {
        return Ids.LAST.incrementAndGet();
    }

    long id();

    /**
     * Runs a task when the connection is closed; at once if it is.
     *
     * @return false where its end cannot be seen: the task never runs
     */
    boolean whenClosed(Runnable task);

    /** Where the numbers come from. */
    final class Ids {
        private static final AtomicLong LAST = new AtomicLong();

        private Ids() {}
    }
}
