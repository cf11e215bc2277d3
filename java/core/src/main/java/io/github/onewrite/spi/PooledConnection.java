package io.github.onewrite.spi;

import java.util.concurrent.atomic.AtomicLong;

/** A connection of any client, as calls see it. Compared by identity. */
public interface PooledConnection {
    /** A number that no other connection of this process has. */
    static long nextId() {
        return Ids.LAST.incrementAndGet();
    }

    long id();

    /**
     * Runs a task when the connection is closed; at once if it is.
     *
     * @return false where the close cannot be observed: the task never runs
     */
    boolean whenClosed(Runnable task);

    /** The source of the numbers. */
    final class Ids {
        private static final AtomicLong LAST = new AtomicLong();

        private Ids() {}
    }
}
