package io.github.onewrite;

import io.github.onewrite.internal.Moment;
import io.github.onewrite.internal.Stamps;
import io.github.onewrite.internal.Text;
import java.util.ArrayList;
import java.util.LinkedHashMap;
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
 * same in every process of the machine. A value is empty if the step did not happen, or is not known.
 */
public final class Timing {
    /**
     * A moment of a request.
     *
     * @param name common to all languages, such as {@code request_start}
     */
    public record Event(String name, long timeNanos) {}

    private final Stamps stamps;

    /** Made by the adapters. */
    @SuppressWarnings("exports") // Its module exports the package to the adapters.
    public Timing(Stamps ended) {
        this.stamps = ended;
    }

    /** The empty string where the request failed before its method was known. */
    public String method() {
        return stamps.method;
    }

    /**
     * Scheme, host, port if the program gave one, and path: never user information, query or fragment. The empty string where
     * the base library refused the URL.
     */
    public String url() {
        return stamps.url();
    }

    /** How the request ended, as the program saw it. */
    public Outcome outcome() {
        return stamps.outcome;
    }

    /** The status of the response that the program got. */
    public OptionalInt status() {
        return stamps.status < 0 ? OptionalInt.empty() : OptionalInt.of(stamps.status);
    }

    public Optional<ErrorKind> errorKind() {
        return Optional.ofNullable(stamps.errorKind);
    }

    /** The phase in which the request failed or was given up; empty when no phase was under way. */
    public Optional<Phase> errorPhase() {
        return Optional.ofNullable(outcome() == Outcome.OK ? null : stamps.errorPhase);
    }

    /** How many times the request was sent before, from 1 on, where the base library shows it. */
    public OptionalInt resend() {
        return stamps.resend == 0 ? OptionalInt.empty() : OptionalInt.of(stamps.resend);
    }

    /** Number of the connection, unique in this process; empty when there was none. */
    public OptionalLong connId() {
        return present(stamps.connection);
    }

    /** Whether the connection had carried a request before; empty when there was none. */
    public Optional<Boolean> reused() {
        return connId().isEmpty() ? Optional.empty() : Optional.of(stamps.requests > 1);
    }

    /** How long a reused connection was idle before this request. */
    public OptionalLong idleNanos() {
        return present(stamps.idle);
    }

    /** Requests on the connection, this one included. */
    public OptionalInt connRequests() {
        return connId().isEmpty() ? OptionalInt.empty() : OptionalInt.of(stamps.requests);
    }

    /** {@code host:port} of the proxy that the connection goes through. */
    public Optional<String> proxy() {
        return Optional.ofNullable(stamps.proxy);
    }

    /** Bytes of head and body as HTTP sees them, before TLS. */
    public OptionalLong bytesSent() {
        return present(stamps.bytesSent);
    }

    /** Times bytes were handed to the transport. */
    public OptionalInt writes() {
        return stamps.writes < 0 ? OptionalInt.empty() : OptionalInt.of(stamps.writes);
    }

    /** Bytes of the response's body that were read, before they are decompressed. */
    public OptionalLong bytesReceived() {
        return present(stamps.bytesReceived);
    }

    private static OptionalLong present(long value) {
        return value < 0 ? OptionalLong.empty() : OptionalLong.of(value);
    }

    /** The length of a phase. One in which the request failed lasts until its end. */
    public OptionalLong nanos(Phase phase) {
        return present(stamps.length(phase));
    }

    public OptionalLong queueNanos() {
        return nanos(Phase.QUEUE);
    }

    public OptionalLong dnsNanos() {
        return nanos(Phase.DNS);
    }

    public OptionalLong connectNanos() {
        return nanos(Phase.CONNECT);
    }

    public OptionalLong tlsNanos() {
        return nanos(Phase.TLS);
    }

    public OptionalLong sendNanos() {
        return nanos(Phase.SEND);
    }

    public OptionalLong waitNanos() {
        return nanos(Phase.WAIT);
    }

    public OptionalLong receiveNanos() {
        return nanos(Phase.RECEIVE);
    }

    /** From the start to the end of the record. */
    public long totalNanos() {
        return stamps.totalNanos();
    }

    /** The kernel's view when the response came; empty where the transport cannot read it, or the response was quick. */
    public Optional<Kernel> kernel() {
        return Optional.ofNullable(stamps.kernel);
    }

    /** Why the wait was 20 ms or more; empty when it was shorter, or nothing is known. */
    public Optional<Cause> cause() {
        return Optional.ofNullable(stamps.cause);
    }

    /** Wall clock at the start, in nanoseconds since 1970. */
    public long startedAtUnixNanos() {
        return stamps.startedAtUnixNanos();
    }

    public long startedAtMonoNanos() {
        return stamps.startedAt;
    }

    /** The moments that came, in order. The list is made at each call. */
    public List<Event> events() {
        List<Event> events = new ArrayList<>();
        for (Moment moment : Moment.values()) {
            if (stamps.at(moment) != 0) {
                events.add(new Event(moment.canonicalName, stamps.at(moment)));
            }
        }
        return List.copyOf(events);
    }

    /**
     * The record under the names common to all languages: strings, boxed numbers, flags, and a map for the kernel's figures.
     * An empty value has no key. The events are not in it.
     */
    public Map<String, Object> toMap() {
        Map<String, Object> map = new LinkedHashMap<>();
        map.put("method", method());
        if (!url().isEmpty()) {
            map.put("url", url());
        }
        map.put("outcome", outcome().canonicalName());
        status().ifPresent(code -> map.put("status", (long) code));
        errorKind().ifPresent(kind -> map.put("error_kind", kind.canonicalName()));
        errorPhase().ifPresent(phase -> map.put("error_phase", phase.canonicalName()));
        resend().ifPresent(times -> map.put("resend", (long) times));
        connId().ifPresent(number -> map.put("conn_id", number));
        reused().ifPresent(used -> map.put("reused", used));
        idleNanos().ifPresent(nanos -> map.put("idle_ns", nanos));
        connRequests().ifPresent(requests -> map.put("conn_requests", (long) requests));
        proxy().ifPresent(through -> map.put("proxy", through));
        bytesSent().ifPresent(bytes -> map.put("bytes_sent", bytes));
        writes().ifPresent(times -> map.put("writes", (long) times));
        bytesReceived().ifPresent(bytes -> map.put("bytes_received", bytes));
        for (Phase phase : Phase.values()) {
            nanos(phase).ifPresent(nanos -> map.put(phase.canonicalName() + "_ns", nanos));
        }
        map.put("total_ns", totalNanos());
        kernel().ifPresent(evidence -> map.put("kernel", evidence.toMap()));
        cause().ifPresent(why -> map.put("cause", why.canonicalName()));
        map.put("started_at_unix_ns", startedAtUnixNanos());
        map.put("started_at_mono_ns", startedAtMonoNanos());
        return map;
    }

    /** One line for a log: {@code POST http://… 200 in 41.9 ms: send 0.1, wait 41.7, receive 0.1; reused conn 3}. */
    @Override
    public String toString() {
        return Text.of(this);
    }
}
