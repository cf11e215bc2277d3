package io.github.onewrite;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;

/**
 * Where the time of one request went. A request that is sent again, as a retry or a redirect, has another record; so has
 * one that failed before it could be sent. The record begins when the base library asks for a connection, and ends when the
 * connection is free again, is closed, or could not be had. It does not change after that.
 *
 * <p>Times and durations are nanoseconds of {@link System#nanoTime}; on Linux that clock is {@code CLOCK_MONOTONIC}, the
 * same in every process of the machine. What did not happen, or is not known, is empty.
 */
public interface Timing {
    /**
     * A moment of a request.
     *
     * @param name common to all languages, such as {@code request_start}
     */
    record Event(String name, long timeNanos) {}

    /** The empty string where the request failed before its method was known. */
    String method();

    /**
     * Scheme, host, port if the program gave one, and path: never user information, query or fragment. The empty string where
     * the base library refused the URL.
     */
    String url();

    /** How the request ended, as the program saw it. */
    Outcome outcome();

    /** The status of the response that the program got. */
    OptionalInt status();

    Optional<ErrorKind> errorKind();

    /** The phase in which the request failed or was given up; empty when no phase was under way. */
    Optional<Phase> errorPhase();

    /** How many times the request was sent before, from 1 on, where the base library shows it. */
    OptionalInt resend();

    /** Number of the connection, unique in this process; empty when there was none. */
    OptionalLong connId();

    /** Whether the connection had carried a request before; empty when there was none. */
    Optional<Boolean> reused();

    /** How long a reused connection was idle before this request. */
    OptionalLong idleNanos();

    /** Requests on the connection, this one included. */
    OptionalInt connRequests();

    /** {@code host:port} of the proxy that the connection goes through. */
    Optional<String> proxy();

    /** Bytes of head and body as HTTP sees them, before TLS. */
    OptionalLong bytesSent();

    /** Times bytes were handed to the transport. */
    OptionalInt writes();

    /** Bytes of the response's body that were read, before they are decompressed. */
    OptionalLong bytesReceived();

    /** The length of a phase. One in which the request failed lasts until its end. */
    OptionalLong nanos(Phase phase);

    default OptionalLong queueNanos() {
        return nanos(Phase.QUEUE);
    }

    default OptionalLong dnsNanos() {
        return nanos(Phase.DNS);
    }

    default OptionalLong connectNanos() {
        return nanos(Phase.CONNECT);
    }

    default OptionalLong tlsNanos() {
        return nanos(Phase.TLS);
    }

    default OptionalLong sendNanos() {
        return nanos(Phase.SEND);
    }

    default OptionalLong waitNanos() {
        return nanos(Phase.WAIT);
    }

    default OptionalLong receiveNanos() {
        return nanos(Phase.RECEIVE);
    }

    /** From the start to the end of the record. */
    long totalNanos();

    /** What the kernel knew when the response came; empty where the transport cannot read it, or the response was quick. */
    Optional<Kernel> kernel();

    /** Why the wait was 20 ms or more; empty when it was shorter, or nothing is known. */
    Optional<Cause> cause();

    /** Wall clock at the start, in nanoseconds since 1970. */
    long startedAtUnixNanos();

    long startedAtMonoNanos();

    /** What happened, in order. Made at each call. */
    List<Event> events();

    /**
     * The record under the names common to all languages: strings, boxed numbers, flags, and a map for the kernel's figures.
     * What is empty has no key. The events are not in it.
     */
    Map<String, Object> toMap();

    /** One line for a log: {@code POST http://… 200 in 41.9 ms: send 0.1, wait 41.7, receive 0.1; reused conn 3}. */
    @Override
    String toString();
}
