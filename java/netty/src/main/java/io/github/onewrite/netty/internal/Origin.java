package io.github.onewrite.netty.internal;

/** Where a connection leads: what connections may be shared by. Proxy and TLS identity are the client's own. */
public record Origin(boolean tls, String host, int port) {
    @Override
    public String toString() {
        return (tls ? "https://" : "http://") + host + ":" + port;
    }
}
