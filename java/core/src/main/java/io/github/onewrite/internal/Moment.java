package io.github.onewrite.internal;

import java.util.Locale;

/** The moments of a request, in order. */
public enum Moment {
    QUEUE_START,
    QUEUE_END,
    DNS_START,
    DNS_END,
    CONNECT_START,
    CONNECT_END,
    TLS_START,
    TLS_END,
    CONNECTION_ACQUIRED,
    /** The first byte is handed to the kernel. */
    REQUEST_START,
    /** The last write returned. */
    REQUEST_END,
    /** The first byte of the final response was read, or its head where the library reads a head in one call. */
    RESPONSE_START,
    HEADERS_END,
    RESPONSE_END,
    CONNECTION_RELEASED;

    public final String canonicalName = name().toLowerCase(Locale.ROOT);
}
