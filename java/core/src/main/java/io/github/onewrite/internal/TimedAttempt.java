package io.github.onewrite.internal;

import io.github.onewrite.Attempt;
import io.github.onewrite.Cause;
import io.github.onewrite.Kernel;
import io.github.onewrite.Outcome;
import io.github.onewrite.Phase;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/** An attempt, which {@link TimedCall} fills while it runs. */
final class TimedAttempt implements Attempt {
    private static final Phase[] PHASES = Phase.values();

    final int index;

    /** Start and end of each phase, in the order of {@link Phase}; 0 is absent. */
    private final long[] times = new long[2 * PHASES.length];

    Outcome outcome = Outcome.OK;
    int status = -1;
    long connId = -1;
    boolean reused;
    long idleNanos = -1;
    int connRequests = -1;

    @Nullable
    String proxy;

    long bytesSent = -1;
    int writes = -1;
    long bytesReceived = -1;
    boolean released;

    @Nullable
    Kernel kernel;

    @Nullable
    Cause cause;

    TimedAttempt(int index) {
        this.index = index;
    }

    void begin(Phase phase, long at) {
        times[2 * phase.ordinal()] = at;
    }

    /** Ends a phase, which lasts at least 1 ns. Returns its end, or 0 if it is not under way. */
    long end(Phase phase, long at) {
        int start = 2 * phase.ordinal();
        if (times[start] == 0 || times[start + 1] != 0) {
            return 0;
        }
        times[start + 1] = Math.max(at, times[start] + 1);
        return times[start + 1];
    }

    /** A phase under way that is not to be in the record. */
    void drop(Phase phase) {
        times[2 * phase.ordinal()] = 0;
    }

    long startOf(Phase phase) {
        return times[2 * phase.ordinal()];
    }

    boolean isOpen(Phase phase) {
        int start = 2 * phase.ordinal();
        return times[start] != 0 && times[start + 1] == 0;
    }

    /** The length of a phase, or -1 when it did not happen or has not ended. */
    long lengthOf(Phase phase) {
        int start = 2 * phase.ordinal();
        return times[start + 1] == 0 ? -1 : times[start + 1] - times[start];
    }

    /** The last phase under way but {@link Phase#TOTAL}, or null. */
    @Nullable
    Phase openPhase() {
        for (int i = Phase.RECEIVE.ordinal(); i >= 0; i--) {
            if (isOpen(PHASES[i])) {
                return PHASES[i];
            }
        }
        return null;
    }

    @Override
    public int index() {
        return index;
    }

    @Override
    public Outcome outcome() {
        return outcome;
    }

    @Override
    public OptionalInt status() {
        return Values.present(status);
    }

    @Override
    public OptionalLong connId() {
        return Values.present(connId);
    }

    @Override
    public Optional<Boolean> reused() {
        return connId < 0 ? Optional.empty() : Optional.of(reused);
    }

    @Override
    public OptionalLong idleNanos() {
        return Values.present(idleNanos);
    }

    @Override
    public OptionalInt connRequests() {
        return Values.present(connRequests);
    }

    @Override
    public Optional<String> proxy() {
        return Optional.ofNullable(proxy);
    }

    @Override
    public OptionalLong bytesSent() {
        return Values.present(bytesSent);
    }

    @Override
    public OptionalInt writes() {
        return Values.present(writes);
    }

    @Override
    public OptionalLong bytesReceived() {
        return Values.present(bytesReceived);
    }

    @Override
    public Optional<Kernel> kernel() {
        return Optional.ofNullable(kernel);
    }

    @Override
    public Optional<Cause> cause() {
        return Optional.ofNullable(cause);
    }

    @Override
    public OptionalLong nanos(Phase phase) {
        return Values.present(lengthOf(phase));
    }

    @Override
    public Map<String, Object> toMap() {
        Map<String, Object> map = new LinkedHashMap<>();
        map.put("index", index);
        map.put("outcome", outcome.canonicalName());
        Values.put(map, "status", status);
        Values.put(map, "conn_id", connId);
        reused().ifPresent(used -> map.put("reused", used));
        Values.put(map, "idle_ns", idleNanos);
        Values.put(map, "conn_requests", connRequests);
        proxy().ifPresent(through -> map.put("proxy", through));
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
