package io.github.onewrite.netty.internal;

import org.jspecify.annotations.Nullable;

/** Where a connection leads: what connections may be shared by. Proxy and TLS identity are the client's own. */
public record Origin(boolean tls, String host, int port) {

    /** As a record's own; that one costs the first call of a process some tens of milliseconds of bootstrap. */
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
