package io.github.onewrite.okhttp;

import io.github.onewrite.internal.Moment;
import io.github.onewrite.internal.Stamps;
import java.util.Map;
import java.util.WeakHashMap;
import okhttp3.Connection;

/**
 * Number, use and idle time of the connections of a client that has hooks. OkHttp shows a listener the connection, and not
 * its past; OkHttp 4 does not show when it is closed, either. So the map is weak: it holds no connection.
 */
final class Connections {
    private final Map<Connection, Usage> usages = new WeakHashMap<>();

    synchronized Usage usage(Connection connection) {
        return usages.computeIfAbsent(connection, unknown -> new Usage());
    }

    /** Of one connection. Requests of HTTP/2 use it at the same time. */
    static final class Usage {
        private final long number = Stamps.nextConnectionId();
        private int requests;
        private long freeSince;

        /** The connection carries the request of this record, which has acquired it. */
        synchronized void carry(Stamps request) {
            request.connection = number;
            request.requests = ++requests;
            request.idle = requests == 1 ? -1 : Math.max(0, request.at(Moment.CONNECTION_ACQUIRED) - freeSince);
        }

        synchronized void free(long at) {
            freeSince = at;
        }
    }
}
