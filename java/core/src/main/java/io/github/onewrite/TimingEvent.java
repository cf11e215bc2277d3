package io.github.onewrite;

import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/**
 * One step of a call. A step that did not happen has no event.
 *
 * <pre>
 * call_start
 *   attempt_start
 *     queue_start queue_end
 *     dns_start dns_end  connect_start connect_end  tls_start tls_end
 *     connection_acquired
 *       request_start request_end
 *       informational*
 *       response_start headers_end response_end
 *     connection_released
 *   attempt_end
 * call_end
 * </pre>
 *
 * <p>Events of one call never overlap and are ordered by time. A value that an event's type does not have is empty.
 */
public final class TimingEvent {
    /** The steps, in order. An interim answer may come while the request is sent. */
    public enum Type {
        CALL_START,
        ATTEMPT_START,
        /** No connection is free: the wait for one began. */
        QUEUE_START,
        QUEUE_END,
        DNS_START,
        /** The name resolved, or did not: see {@link #error}. */
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
        /** An interim response (1xx) arrived; it does not end the wait. */
        INFORMATIONAL,
        /** The first byte of the final response was read. */
        RESPONSE_START,
        HEADERS_END,
        RESPONSE_END,
        CONNECTION_RELEASED,
        ATTEMPT_END,
        /** The last event, exactly once. */
        CALL_END;

        private final String canonicalName = name().toLowerCase(Locale.ROOT);

        /** The name common to all languages, such as {@code request_start}. */
        public String canonicalName() {
            return canonicalName;
        }
    }

    private final Type type;
    private final long timeNanos;
    private final Timing call;
    private final @Nullable Attempt attempt;
    private final @Nullable String text;
    private final int code;

    /**
     * Made by the adapters, and by tests of listeners.
     *
     * @param attempt null before the first one
     * @param text host, peer or error of the event, or null
     * @param code status of the event; of CONNECTION_RELEASED 1 where the connection is reusable, else 0
     */
    public TimingEvent(
            Type type, long timeNanos, Timing call, @Nullable Attempt attempt, @Nullable String text, int code) {
        this.type = type;
        this.timeNanos = timeNanos;
        this.call = call;
        this.attempt = attempt;
        this.text = text;
        this.code = code;
    }

    public Type type() {
        return type;
    }

    /** The name common to all languages, such as {@code request_start}. */
    public String name() {
        return type.canonicalName;
    }

    /** When it happened, in nanoseconds of {@link System#nanoTime}. */
    public long timeNanos() {
        return timeNanos;
    }

    /** The record, which the call fills while it runs: method, URL and tag are there from the start. */
    public Timing call() {
        return call;
    }

    /** Index of the attempt, from 0; -1 before the first one. */
    public int attempt() {
        return attempt == null ? -1 : attempt.index();
    }

    /** Of DNS_START: the name that is looked up, which may be a proxy's. */
    public Optional<String> host() {
        return text(type == Type.DNS_START);
    }

    /** Of CONNECT_START: {@code host:port} that is connected to, or the path of a Unix socket, where the client shows it. */
    public Optional<String> peer() {
        return text(type == Type.CONNECT_START);
    }

    /** Of DNS_END, CONNECT_END and TLS_END: why it failed; empty when it went well. */
    public Optional<String> error() {
        return text(type == Type.DNS_END || type == Type.CONNECT_END || type == Type.TLS_END);
    }

    private Optional<String> text(boolean has) {
        return has ? Optional.ofNullable(text) : Optional.empty();
    }

    /** Of INFORMATIONAL and HEADERS_END. */
    public OptionalInt status() {
        return type == Type.INFORMATIONAL || type == Type.HEADERS_END ? OptionalInt.of(code) : OptionalInt.empty();
    }

    /** Of REQUEST_END: head and body as HTTP sees them, before TLS. Of RESPONSE_END: the body. Empty where not known. */
    public OptionalLong bytes() {
        return switch (type) {
            case REQUEST_END -> Objects.requireNonNull(attempt).bytesSent();
            case RESPONSE_END -> Objects.requireNonNull(attempt).bytesReceived();
            default -> OptionalLong.empty();
        };
    }

    /** Of CONNECTION_RELEASED: whether the connection can carry another request. */
    public Optional<Boolean> reusable() {
        return type == Type.CONNECTION_RELEASED ? Optional.of(code == 1) : Optional.empty();
    }

    /** The event under the names common to all languages, ready for JSON. An absent value has no key. */
    public Map<String, Object> toMap() {
        Map<String, Object> map = new LinkedHashMap<>();
        map.put("name", name());
        map.put("t_ns", timeNanos);
        if (attempt != null) {
            map.put("attempt", attempt.index());
        }
        switch (type) {
            case CALL_START -> {
                map.put("method", call.method());
                map.put("url", call.url());
                map.put("started_at_unix_ns", call.startedAtUnixNanos());
            }
            case CONNECTION_ACQUIRED -> copy(map, "conn_id", "reused", "idle_ns", "conn_requests");
            case REQUEST_END -> copy(map, "writes");
            case CONNECTION_RELEASED -> map.put("reusable", code == 1);
            case ATTEMPT_END -> copy(map, "outcome");
            case CALL_END -> {
                map.put("outcome", call.outcome().canonicalName());
                call.errorKind().ifPresent(kind -> map.put("error_kind", kind.canonicalName()));
                call.errorPhase().ifPresent(phase -> map.put("error_phase", phase.canonicalName()));
            }
            default -> {
                host().ifPresent(host -> map.put("host", host));
                peer().ifPresent(peer -> map.put("peer", peer));
                error().ifPresent(error -> map.put("error", error));
                status().ifPresent(status -> map.put("status", status));
            }
        }
        bytes().ifPresent(bytes -> map.put("bytes", bytes));
        return map;
    }

    private void copy(Map<String, Object> map, String... names) {
        Map<String, Object> of = Objects.requireNonNull(attempt).toMap();
        for (String name : names) {
            Object value = of.get(name);
            if (value != null) {
                map.put(name, value);
            }
        }
    }

    @Override
    public String toString() {
        return toMap().toString();
    }
}
