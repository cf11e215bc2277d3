package io.github.onewrite.client.internal;

import org.jspecify.annotations.Nullable;

/** The server of a connection: calls to equal origins share connections. Proxy and TLS identity are the client's own. */
public record Origin(boolean tls, String host, int port) {

    /** Like the record's generated method, whose bootstrap costs the first call of a process tens of milliseconds. */
    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof Origin origin && tls == origin.tls && port == origin.port && host.equals(origin.host);
    }

    @Override
    public int hashCode() {
        return 31 * (31 * host.hashCode() + port) + Boolean.hashCode(tls);
    }

    @Override
    public String toString() {
        return (tls ? "https://" : "http://") + host + ":" + port;
    }
}
