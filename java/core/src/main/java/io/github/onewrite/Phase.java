package io.github.onewrite;

import java.util.Locale;

/** The phases of a request, in order. One that did not happen is absent from the record, never 0. */
public enum Phase {
    /** Waiting for a connection of a pool, or for the moment at which a new one is begun. */
    QUEUE,
    /** Resolving the host name. */
    DNS,
    /** TCP connect; through a proxy also the CONNECT exchange. */
    CONNECT,
    /** TLS handshake. */
    TLS,
    /** From the first byte handed to the kernel until the last write returned. */
    SEND,
    /** From the last write's return until the first byte of the final response: where a stall shows. */
    WAIT,
    /** From the first to the last byte of the response. */
    RECEIVE;

    private final String canonicalName = name().toLowerCase(Locale.ROOT);

    /** The name common to all languages. */
    public String canonicalName() {
        return canonicalName;
    }
}
