package io.github.onewrite;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/**
 * One attempt of a call: the request on one connection. A call has one, and a second when the request was sent again
 * or redirected. Times are in nanoseconds. What did not happen is empty, never 0 and never an older connection's value.
 *
 * <p>The object is filled by {@link TimedCall} while the attempt runs, and does not change after its end.
 */
public final class Attempt extends Phases {
    private static final Phase[] PHASES = Phase.values();

    final int index;

    /** Start and end of the phases before {@link Phase#SEND}, which a reused connection does not have; 0 is absent. */
    private long @Nullable [] connecting;

    /** Start and end of the others. */
    private final long[] serving = new long[2 * (PHASES.length - Phase.SEND.ordinal())];

    Outcome outcome = Outcome.OK;
    int status = -1;
    long connId = -1;
    boolean reused;
    long idleNanos = -1;
    int connRequests = -1;
    long bytesSent = -1;
    int writes = -1;
    long bytesReceived = -1;
    boolean released;

    @Nullable
    Kernel kernel;

    @Nullable
    Cause cause;

    Attempt(int index) {
        this.index = index;
    }

    void begin(Phase phase, long at) {
        set(phase, 0, at);
    }

    void finish(Phase phase, long at) {
        set(phase, 1, at);
    }

    /** A phase that began and is not to be in the record. */
    void drop(Phase phase) {
        set(phase, 0, 0);
    }

    private void set(Phase phase, int end, long at) {
        int late = phase.ordinal() - Phase.SEND.ordinal();
        if (late >= 0) {
            serving[2 * late + end] = at;
        } else {
            connecting = connecting == null ? new long[2 * Phase.SEND.ordinal()] : connecting;
            connecting[2 * phase.ordinal() + end] = at;
        }
    }

    private long get(Phase phase, int end) {
        int late = phase.ordinal() - Phase.SEND.ordinal();
        if (late >= 0) {
            return serving[2 * late + end];
        }
        return connecting == null ? 0 : connecting[2 * phase.ordinal() + end];
    }

    long startOf(Phase phase) {
        return get(phase, 0);
    }

    boolean isOpen(Phase phase) {
        return hasBegun(phase) && get(phase, 1) == 0;
    }

    boolean hasBegun(Phase phase) {
        return startOf(phase) != 0;
    }

    /** The length of a phase, or -1 when it did not happen or has not ended. */
    long lengthOf(Phase phase) {
        long end = get(phase, 1);
        return end == 0 || !hasBegun(phase) ? -1 : end - startOf(phase);
    }

    /** The phase under way, or null. */
    @Nullable
    Phase openPhase() {
        for (int i = Phase.RECEIVE.ordinal(); i >= 0; i--) {
            if (isOpen(PHASES[i])) {
                return PHASES[i];
            }
        }
        return null;
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
        return Values.present(lengthOf(phase));
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
        for (Phase phase : PHASES) {
            Values.put(map, phase.canonicalName() + "_ns", lengthOf(phase));
        }
        if (kernel != null) {
            map.put("kernel", kernel.toMap());
        }
        if (cause != null) {
            map.put("cause", cause.canonicalName());
        }
        return map;
    }
}
