package io.github.onewrite;

import org.jspecify.annotations.Nullable;

/**
 * One step of a call, in the order in which these records are written here; a step that did not happen has no event.
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
 * <p>Events of one call never overlap and are ordered by time.
 */
public sealed interface TimingEvent {

    /** The name common to all languages, such as {@code request_start}: that of the record. */
    default String name() {
        return Values.snakeCase(getClass().getSimpleName());
    }

    /** When it happened, in nanoseconds of {@link System#nanoTime}. */
    long timeNanos();

    /** Index of the attempt, from 0; -1 before the first one. */
    int attempt();

    /** A call began. */
    record CallStart(long timeNanos, String method, String url, long startedAtUnixNanos) implements TimingEvent {
        @Override
        public int attempt() {
            return -1;
        }
    }

    /** An attempt began. */
    record AttemptStart(long timeNanos, int attempt) implements TimingEvent {}

    /** No connection is free: the wait for one began. */
    record QueueStart(long timeNanos, int attempt) implements TimingEvent {}

    /** The wait for a connection is over. */
    record QueueEnd(long timeNanos, int attempt) implements TimingEvent {}

    /** Resolving the name began. */
    record DnsStart(long timeNanos, int attempt, String host) implements TimingEvent {}

    /**
     * The name resolved, or did not.
     *
     * @param error null when it went well
     */
    record DnsEnd(long timeNanos, int attempt, @Nullable String error) implements TimingEvent {}

    /** The TCP connect began. */
    record ConnectStart(long timeNanos, int attempt) implements TimingEvent {}

    /**
     * The TCP connection is established, or failed.
     *
     * @param error null when it went well
     */
    record ConnectEnd(long timeNanos, int attempt, @Nullable String error) implements TimingEvent {}

    /** The TLS handshake began. */
    record TlsStart(long timeNanos, int attempt) implements TimingEvent {}

    /**
     * The TLS handshake ended.
     *
     * @param error null when it went well
     */
    record TlsEnd(long timeNanos, int attempt, @Nullable String error) implements TimingEvent {}

    /**
     * The attempt has its connection.
     *
     * @param connId unique in this process
     * @param idleNanos how long a reused connection was idle, else -1
     * @param connRequests requests on the connection, this one included
     */
    record ConnectionAcquired(
            long timeNanos, int attempt, long connId, boolean reused, long idleNanos, int connRequests)
            implements TimingEvent {}

    /** The first byte is handed to the kernel. */
    record RequestStart(long timeNanos, int attempt) implements TimingEvent {}

    /**
     * The last write returned.
     *
     * @param bytes head and body as HTTP sees them, before TLS
     * @param writes times bytes were handed to the transport
     */
    record RequestEnd(long timeNanos, int attempt, long bytes, int writes) implements TimingEvent {}

    /** An interim response (1xx) arrived; it does not end the wait. */
    record Informational(long timeNanos, int attempt, int status) implements TimingEvent {}

    /** The first byte of the final response was read. */
    record ResponseStart(long timeNanos, int attempt) implements TimingEvent {}

    /** The final response's headers are complete. */
    record HeadersEnd(long timeNanos, int attempt, int status) implements TimingEvent {}

    /**
     * The last byte of the response was read.
     *
     * @param bytes of the body
     */
    record ResponseEnd(long timeNanos, int attempt, long bytes) implements TimingEvent {}

    /** The attempt gave its connection back. */
    record ConnectionReleased(long timeNanos, int attempt, boolean reusable) implements TimingEvent {}

    /** An attempt ended. */
    record AttemptEnd(long timeNanos, int attempt, Outcome outcome) implements TimingEvent {}

    /** The call ended: the last event, exactly once. */
    record CallEnd(
            long timeNanos,
            int attempt,
            Outcome outcome,
            @Nullable ErrorKind errorKind,
            @Nullable Phase errorPhase) implements TimingEvent {}
}
