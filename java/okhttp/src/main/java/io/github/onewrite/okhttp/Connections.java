package io.github.onewrite.okhttp;

import io.github.onewrite.spi.CallTimer;
import io.github.onewrite.spi.PooledConnection;
import java.net.Socket;
import java.util.Map;
import java.util.WeakHashMap;
import okhttp3.Connection;

/** Numbers OkHttp's connections, and remembers how often and when they were used. Holds none of them alive. */
final class Connections {
    private final Map<Connection, Usage> usages = new WeakHashMap<>();

    private static final class Usage implements PooledConnection {
        private final long id = PooledConnection.nextId();
        private final Socket socket;
        private int requests;
        private long releasedAt;

        Usage(Socket socket) {
            this.socket = socket;
        }

        @Override
        public long id() {
            return id;
        }

        /** OkHttp tells nobody that it closes a connection; sockets made here do. */
        @Override
        public boolean whenClosed(Runnable task) {
            if (socket instanceof ClosingSocket ours) {
                ours.closed().thenRun(task).exceptionally(thrown -> {
                    System.getLogger("io.github.onewrite")
                            .log(System.Logger.Level.WARNING, "a timing hook threw", thrown);
                    return null;
                });
                return true;
            }
            return false;
        }
    }

    /** The lock is never held while hooks run: all calls of a client share it. */
    void acquired(Connection connection, CallTimer timer) {
        Usage usage;
        long idle;
        int requests;
        synchronized (this) {
            usage = usages.computeIfAbsent(connection, unknown -> new Usage(unknown.socket()));
            idle = usage.requests == 0 ? -1 : Math.max(0, System.nanoTime() - usage.releasedAt);
            requests = ++usage.requests;
        }
        timer.connectionAcquired(usage, requests > 1, idle, requests);
    }

    synchronized void released(Connection connection) {
        Usage usage = usages.get(connection);
        if (usage != null) {
            usage.releasedAt = System.nanoTime();
        }
    }
}
