package io.github.onewrite.internal;

import java.util.concurrent.atomic.AtomicLong;

/** Counts the sockets on which a customizer could not do its work, for its {@link io.github.onewrite.Status}. */
public final class SocketCounts {
    private final AtomicLong withoutNodelay = new AtomicLong();
    private final AtomicLong notJoined = new AtomicLong();

    SocketCounts() {}

    /** A connection whose TCP_NODELAY was read back as off. */
    public void withoutNodelay() {
        withoutNodelay.incrementAndGet();
    }

    /**
     * Connections whose writes are not joined.
     *
     * @param more 1, or -1 when writes of such a connection are joined now
     */
    public void notJoined(int more) {
        notJoined.addAndGet(more);
    }

    private static String text(String state, AtomicLong exceptions) {
        long count = exceptions.get();
        return count == 0 ? state : state + "; connections without it so far: " + count;
    }

    String nodelay(String state) {
        return text(state, withoutNodelay);
    }

    String coalesce(String state) {
        return text(state, notJoined);
    }
}
