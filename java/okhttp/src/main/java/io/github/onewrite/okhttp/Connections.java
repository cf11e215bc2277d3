package io.github.onewrite.okhttp;

import io.github.onewrite.internal.TimedCall;
import java.io.IOException;
import java.net.Socket;
import java.util.Map;
import java.util.WeakHashMap;
import java.util.concurrent.atomic.AtomicLong;
import okhttp3.Connection;
import org.jspecify.annotations.Nullable;

/** The connections of a client: number, use, and TCP_NODELAY of each. Holds none of them alive. */
final class Connections {
    private final Map<Connection, Usage> usages = new WeakHashMap<>();
    private final @Nullable AtomicLong nodelay;

    /** @param nodelay counts the sockets without TCP_NODELAY, which is set; null where it is not */
    Connections(@Nullable AtomicLong nodelay) {
        this.nodelay = nodelay;
    }

    /** Sets TCP_NODELAY on a connection that is new here: SOCKS proxies and some factories bypass ours. */
    Usage usage(Connection connection) {
        Usage known;
        synchronized (this) {
            known = usages.get(connection);
            if (known != null) {
                return known;
            }
            known = new Usage();
            usages.put(connection, known);
        }
        Socket socket = connection.socket();
        if (nodelay != null && isTcp(socket) && !hasNodelay(socket) && !socket.isClosed()) {
            nodelay.incrementAndGet();
        }
        return known;
    }

    /**
     * Whether the JDK connected the socket. A Unix socket that extends Socket has a connect and often an isConnected of its
     * own. On such a socket the JDK's option methods open a TCP descriptor.
     */
    private static boolean isTcp(Socket socket) {
        try {
            Class<?> connected = socket.getClass().getMethod("isConnected").getDeclaringClass();
            return connected.getModule() == Socket.class.getModule() && socket.isConnected();
        } catch (NoSuchMethodException e) {
            throw new AssertionError(e);
        }
    }

    private static boolean hasNodelay(Socket socket) {
        try {
            if (!socket.getTcpNoDelay()) {
                socket.setTcpNoDelay(true);
            }
            return socket.getTcpNoDelay();
        } catch (IOException | RuntimeException e) {
            // The socket refuses the option, or is closed.
            return false;
        }
    }

    /** How often and when a connection was used. */
    static final class Usage {
        private final long id = TimedCall.nextConnectionId();
        private int requests;
        private long releasedAt;

        /** @param call null where the call is not timed: it counts as a request of the connection */
        void acquired(long at, @Nullable TimedCall call) {
            int count;
            long idle;
            synchronized (this) {
                count = ++requests;
                idle = releasedAt == 0 ? -1 : Math.max(0, at - releasedAt);
            }
            if (call != null) {
                call.connectionAcquired(id, idle, count);
            }
        }

        synchronized void released(long at) {
            releasedAt = at;
        }
    }
}
