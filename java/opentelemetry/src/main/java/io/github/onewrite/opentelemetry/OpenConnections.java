package io.github.onewrite.opentelemetry;

import io.github.onewrite.spi.PooledConnection;
import io.opentelemetry.api.common.AttributeKey;
import io.opentelemetry.api.common.Attributes;
import io.opentelemetry.api.metrics.DoubleHistogram;
import io.opentelemetry.api.metrics.LongUpDownCounter;
import io.opentelemetry.api.metrics.Meter;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Counts the connections that have served a call, from then to their close, and records their duration. Each connection is
 * subtracted from the state in which it was counted, so that the sums never drift. A connection whose close cannot be
 * observed is counted only while a call has it.
 */
final class OpenConnections {
    private static final AttributeKey<String> STATE = AttributeKey.stringKey("http.connection.state");

    private final LongUpDownCounter open;
    private final DoubleHistogram duration;
    private final Map<PooledConnection, Held> known = new ConcurrentHashMap<>();

    OpenConnections(Meter meter) {
        this.open = meter.upDownCounterBuilder("http.client.open_connections")
                .setUnit("{connection}")
                .setDescription("Number of outbound HTTP connections that are currently active or idle on the client.")
                .build();
        this.duration = CallMetrics.seconds(
                meter,
                "http.client.connection.duration",
                "The duration of the successfully established outbound HTTP connections.",
                List.of(0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0));
    }

    /**
     * A call has a connection.
     *
     * @param server attributes of the server, should the connection be unknown
     * @param since when it was made, by {@link System#nanoTime}
     */
    Held acquire(PooledConnection connection, Attributes server, long since) {
        Held held = known.get(connection);
        if (held == null) {
            Held fresh = new Held(server, since);
            held = known.putIfAbsent(connection, fresh);
            if (held == null) {
                held = fresh;
                if (!connection.whenClosed(() -> close(connection))) {
                    known.remove(connection);
                    fresh.endIsUnseen();
                }
            }
        }
        held.acquire();
        return held;
    }

    private void close(PooledConnection connection) {
        Held held = known.remove(connection);
        if (held != null) {
            held.close();
        }
    }

    /** One connection. It may serve several calls at a time (HTTP/2). */
    final class Held {
        private final Attributes active;
        private final Attributes idle;
        private final Attributes server;
        private final long since;
        private boolean endIsSeen = true;
        private boolean used;
        private boolean closed;
        private int calls;

        private Held(Attributes server, long since) {
            this.server = server;
            this.active = Server.with(server, STATE, "active");
            this.idle = Server.with(server, STATE, "idle");
            this.since = since;
        }

        private synchronized void endIsUnseen() {
            endIsSeen = false;
        }

        private synchronized void acquire() {
            if (!closed && calls++ == 0) {
                if (used && endIsSeen) {
                    open.add(-1, idle);
                }
                used = true;
                open.add(1, active);
            }
        }

        /** A call gave it back. */
        synchronized void release() {
            if (!closed && --calls == 0) {
                open.add(-1, active);
                if (endIsSeen) {
                    open.add(1, idle);
                }
            }
        }

        private synchronized void close() {
            closed = true;
            if (used) {
                // First: when a reader sees that it is gone, its duration is there.
                duration.record((System.nanoTime() - since) / 1e9, server);
                open.add(-1, calls > 0 ? active : idle);
            }
        }
    }
}
