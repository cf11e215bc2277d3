package io.github.onewrite;

/** What kind of error ended a call; the same kinds in all languages. */
public enum ErrorKind {
    /** Refused before a byte was sent, because of what the caller gave. */
    INVALID_REQUEST("invalid_request"),
    /** The name did not resolve. */
    DNS("dns"),
    /** The connection could not be made: refused, unreachable, or the proxy refused the tunnel. */
    CONNECT("connect"),
    /** Handshake or certificate failed. */
    TLS("tls"),
    /** No connection was free in time, the queue is full, or the client is closed. */
    POOL("pool"),
    /** A time limit of the caller ran out. */
    TIMEOUT("timeout"),
    /** The peer reset the connection. */
    RESET("reset"),
    /** The peer closed before the message was complete. */
    CLOSED("closed"),
    /** The peer sent what is not HTTP/1.1, or more than the limits allow. */
    PROTOCOL("protocol"),
    /** The caller gave up. */
    CANCELLED("cancelled"),
    /** Anything else; the exception's cause says more. */
    OTHER("other");

    private final String canonicalName;

    ErrorKind(String canonicalName) {
        this.canonicalName = canonicalName;
    }

    /** The name common to all languages. */
    public String canonicalName() {
        return canonicalName;
    }
}
