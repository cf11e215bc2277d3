package io.github.onewrite;

import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/**
 * One attempt of a call: the request on one connection. A call has one, and a second when the request was sent again
 * or redirected. Times are in nanoseconds. What did not happen is empty, never 0 and never an older connection's value.
 */
public final class Attempt extends Phases {
    private final int index;
    private final Outcome outcome;
    private final int status;
    private final long connId;
    private final boolean reused;
    private final long idleNanos;
    private final int connRequests;
    private final long bytesSent;
    private final int writes;
    private final long bytesReceived;
    private final long[] starts;
    private final long[] phases;
    private final @Nullable Kernel kernel;
    private final @Nullable Cause cause;
    private final List<ServerTiming> serverTiming;
    private final long serverNanos;

    private Attempt(Builder from, Outcome outcome) {
        this.index = from.index;
        this.outcome = outcome;
        this.status = from.status;
        this.connId = from.connId;
        this.reused = from.reused;
        this.idleNanos = from.idleNanos;
        this.connRequests = from.connRequests;
        this.bytesSent = from.bytesSent;
        this.writes = from.writes;
        this.bytesReceived = from.bytesReceived;
        this.starts = from.starts;
        this.phases = from.phases;
        this.kernel = from.kernel;
        this.cause = from.cause;
        this.serverTiming = from.serverTiming;
        this.serverNanos = from.serverNanos;
    }

    /** Makes the record of an attempt: for adapters, and for tests of hooks. */
    public static Builder builder(int index) {
        return new Builder(index);
    }

    /** A value that is not set is absent. */
    public static final class Builder {
        private final int index;
        private int status = -1;
        private long connId = -1;
        private boolean reused;
        private long idleNanos = -1;
        private int connRequests = -1;
        private long bytesSent = -1;
        private int writes = -1;
        private long bytesReceived = -1;
        private long[] starts = NONE;
        private long[] phases = NONE;
        private @Nullable Kernel kernel;
        private @Nullable Cause cause;
        private List<ServerTiming> serverTiming = List.of();
        private long serverNanos = -1;

        private static final long[] NONE = none();

        private Builder(int index) {
            this.index = index;
        }

        private static long[] none() {
            long[] none = new long[Phase.values().length];
            Arrays.fill(none, -1);
            return none;
        }

        /** Status of the final response. */
        public Builder status(int code) {
            status = code;
            return this;
        }

        /**
         * The connection.
         *
         * @param idle how long it was idle, -1 for a new one
         * @param requests on it, this one included
         */
        public Builder connection(long id, boolean used, long idle, int requests) {
            connId = id;
            reused = used;
            idleNanos = idle;
            connRequests = requests;
            return this;
        }

        /** The bytes sent, and in how many writes; -1 where that is not known. */
        public Builder sent(long bytes, int flushes) {
            bytesSent = bytes;
            writes = flushes;
            return this;
        }

        /** Bytes of the response's body. */
        public Builder received(long bytes) {
            bytesReceived = bytes;
            return this;
        }

        /** A phase, with its start by {@link System#nanoTime}. */
        public Builder phase(Phase phase, long start, long nanos) {
            if (phases == NONE) {
                phases(NONE.clone(), NONE.clone());
            }
            starts[phase.ordinal()] = start;
            phases[phase.ordinal()] = nanos;
            return this;
        }

        /**
         * All phases, indexed by {@link Phase#ordinal}; the arrays are kept.
         *
         * @param lengths -1 for a phase that did not happen
         */
        public Builder phases(long[] begun, long[] lengths) {
            starts = begun;
            phases = lengths;
            return this;
        }

        /** Kernel evidence, and the cause of a long wait that it shows. */
        public Builder kernel(@Nullable Kernel evidence, @Nullable Cause why) {
            kernel = evidence;
            cause = why;
            return this;
        }

        /**
         * The response's {@code Server-Timing}.
         *
         * @param nanos what the server claims of the wait, -1 when it claims nothing
         */
        public Builder serverTiming(List<ServerTiming> entries, long nanos) {
            serverTiming = List.copyOf(entries);
            serverNanos = nanos;
            return this;
        }

        public Attempt build(Outcome outcome) {
            return new Attempt(this, outcome);
        }
    }

    /** 0 for the first attempt of a call. */
    public int index() {
        return index;
    }

    public Outcome outcome() {
        return outcome;
    }

    /** Status of the final response. */
    public OptionalInt status() {
        return Values.present(status);
    }

    /** Number of the connection, unique in this process; empty when none was acquired. */
    public OptionalLong connId() {
        return Values.present(connId);
    }

    /** Whether the connection had carried a request before; empty when none was acquired. */
    public Optional<Boolean> reused() {
        return connId < 0 ? Optional.empty() : Optional.of(reused);
    }

    /** How long a reused connection had been idle. */
    public OptionalLong idleNanos() {
        return Values.present(idleNanos);
    }

    /** Requests on the connection, this one included. */
    public OptionalInt connRequests() {
        return Values.present(connRequests);
    }

    /** Bytes of head and body as HTTP sees them, before TLS. */
    public OptionalLong bytesSent() {
        return Values.present(bytesSent);
    }

    /** Times bytes were handed to the transport. */
    public OptionalInt writes() {
        return Values.present(writes);
    }

    /** Bytes of the response body. */
    public OptionalLong bytesReceived() {
        return Values.present(bytesReceived);
    }

    @Override
    public OptionalLong nanos(Phase phase) {
        return Values.present(phases[phase.ordinal()]);
    }

    /** When a phase that is present began, in nanoseconds of {@link System#nanoTime}. */
    public OptionalLong startNanos(Phase phase) {
        return phases[phase.ordinal()] < 0 ? OptionalLong.empty() : OptionalLong.of(starts[phase.ordinal()]);
    }

    public OptionalLong totalNanos() {
        return nanos(Phase.TOTAL);
    }

    /** Kernel evidence; empty where the transport cannot read it. */
    public Optional<Kernel> kernel() {
        return Optional.ofNullable(kernel);
    }

    /** Cause of a long wait; empty without kernel evidence, and when the wait was short. */
    public Optional<Cause> cause() {
        return Optional.ofNullable(cause);
    }

    /** What the response's {@code Server-Timing} fields said, in order: at most 32 entries, of 4,096 characters. */
    public List<ServerTiming> serverTiming() {
        return serverTiming;
    }

    /**
     * The time the server claims of the wait: the duration of its entry {@code total}, else the longest. Empty when it
     * claims none, or more than the wait.
     */
    public OptionalLong serverNanos() {
        return Values.present(serverNanos);
    }

    /**
     * What of the wait the server does not claim: the network, proxies on the way, queues before the server's clock
     * started. Empty without {@link #serverNanos}, and when nothing is left.
     */
    public OptionalLong networkNanos() {
        long rest = serverNanos < 0 ? 0 : waitNanos().orElse(0) - serverNanos;
        return rest > 0 ? OptionalLong.of(rest) : OptionalLong.empty();
    }

    /** Under the names common to all languages. */
    Map<String, Object> toMap() {
        Map<String, Object> map = new LinkedHashMap<>();
        map.put("index", index);
        map.put("outcome", outcome.canonicalName());
        Values.put(map, "status", status);
        Values.put(map, "conn_id", connId);
        reused().ifPresent(used -> map.put("reused", used));
        Values.put(map, "idle_ns", idleNanos);
        Values.put(map, "conn_requests", connRequests);
        Values.put(map, "bytes_sent", bytesSent);
        Values.put(map, "writes", writes);
        Values.put(map, "bytes_received", bytesReceived);
        for (Phase phase : Phase.values()) {
            Values.put(map, phase.canonicalName() + "_ns", phases[phase.ordinal()]);
        }
        if (kernel != null) {
            map.put("kernel", kernel.toMap());
        }
        if (cause != null) {
            map.put("cause", cause.canonicalName());
        }
        if (!serverTiming.isEmpty()) {
            map.put(
                    "server_timing",
                    serverTiming.stream().map(ServerTiming::toMap).toList());
        }
        Values.put(map, "server_ns", serverNanos);
        Values.put(map, "network_ns", networkNanos().orElse(-1));
        return map;
    }
}
