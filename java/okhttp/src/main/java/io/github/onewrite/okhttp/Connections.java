package io.github.onewrite.okhttp;

import io.github.onewrite.internal.CallTimer;
import java.util.Map;
import java.util.WeakHashMap;
import java.util.concurrent.atomic.AtomicLong;
import okhttp3.Connection;

/** Numbers OkHttp's connections, and remembers how often and when they were used. Holds none of them alive. */
final class Connections {
    private static final AtomicLong IDS = new AtomicLong();

    private final Map<Connection, Usage> usages = new WeakHashMap<>();

    private static final class Usage {
        private final long id = IDS.incrementAndGet();
        private int requests;
        private long releasedAt;
    }

    synchronized void acquired(Connection connection, CallTimer timer) {
        Usage usage = usages.computeIfAbsent(connection, none -> new Usage());
        boolean reused = usage.requests > 0;
        usage.requests++;
        timer.connectionAcquired(
                usage.id, reused, reused ? Math.max(0, System.nanoTime() - usage.releasedAt) : -1, usage.requests);
    }

    synchronized void released(Connection connection) {
        Usage usage = usages.get(connection);
        if (usage != null) {
            usage.releasedAt = System.nanoTime();
        }
    }
}
