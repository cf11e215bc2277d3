package io.github.onewrite;

import java.util.Locale;

/** The kind of an error that ended a request; the same kinds in all languages. */
public enum ErrorKind {
    /** The name did not resolve. */
    DNS,
    /** The connection could not be made: refused, unreachable, or the proxy refused the tunnel. */
    CONNECT,
    /** Handshake or certificate failed. */
    TLS,
    /** No connection was free in time, the queue is full, or the client is closed. */
    POOL,
    /** A time limit of the program ran out. */
    TIMEOUT,
    /** The peer reset the connection. */
    RESET,
    /** The peer closed before the message was complete. */
    CLOSED,
    /** The peer sent what is not HTTP/1.1, or more than the limits allow. */
    PROTOCOL,
    /** The program gave up. */
    CANCELLED,
    /** Anything else, such as a request that the base library refuses; the exception says more. */
    OTHER;

    private final String canonicalName = name().toLowerCase(Locale.ROOT);

    /** The name common to all languages. */
    public String canonicalName() {
        return canonicalName;
    }
}
