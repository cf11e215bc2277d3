package io.github.onewrite.okhttp;

import io.github.onewrite.TimedCall;
import java.util.Map;
import java.util.WeakHashMap;
import okhttp3.Connection;

/** Numbers OkHttp's connections, and remembers how often and when they were used. Holds none of them alive. */
final class Connections {
    private final Map<Connection, Usage> usages = new WeakHashMap<>();

    private static final class Usage {
        private final long id = TimedCall.nextConnectionId();
        private int requests;
        private long releasedAt;
    }

    /** The lock is never held while hooks run: all calls of a client share it. */
    void acquired(long at, Connection connection, TimedCall call) {
        Usage usage;
        long idle;
        int requests;
        synchronized (this) {
            usage = usages.computeIfAbsent(connection, unknown -> new Usage());
            idle = usage.releasedAt == 0 ? -1 : Math.max(0, at - usage.releasedAt);
            requests = ++usage.requests;
        }
        call.connectionAcquired(usage.id, idle, requests);
    }

    synchronized void released(long at, Connection connection) {
        Usage usage = usages.get(connection);
        if (usage != null) {
            usage.releasedAt = at;
        }
    }
}
