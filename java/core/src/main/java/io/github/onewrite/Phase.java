package io.github.onewrite;

/** The phases of an attempt. A phase that did not happen is absent from the timing, never 0. */
public enum Phase {
    /** Waiting for a connection of a pool that had none free. */
    QUEUE("queue"),
    /** Resolving the host name. */
    DNS("dns"),
    /** TCP connect; through a proxy also the CONNECT exchange. */
    CONNECT("connect"),
    /** TLS handshake. */
    TLS("tls"),
    /** From the first byte handed to the kernel until the last write returned. */
    SEND("send"),
    /** From the last write's return until the first byte of the final response: where a stall shows. */
    WAIT("wait"),
    /** From the first to the last byte of the response. */
    RECEIVE("receive"),
    /** The whole attempt. */
    TOTAL("total");

    private final String canonicalName;

    Phase(String canonicalName) {
        this.canonicalName = canonicalName;
    }

    /** The name common to all languages. */
    public String canonicalName() {
        return canonicalName;
    }
}
