package io.github.onewrite;

import io.github.onewrite.internal.Values;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.OptionalLong;

/**
 * What the kernel knew of the connection at the first byte of the response (Linux {@code TCP_INFO}; epoll transport).
 */
public final class Kernel {
    private final long segmentsOut;
    private final long rttMicros;
    private final long minRttMicros;
    private final long retransmits;
    private final long sendHoldNanos;

    /** Each value is -1 where it could not be read. */
    public Kernel(long segmentsOut, long rttMicros, long minRttMicros, long retransmits, long sendHoldNanos) {
        this.segmentsOut = segmentsOut;
        this.rttMicros = rttMicros;
        this.minRttMicros = minRttMicros;
        this.retransmits = retransmits;
        this.sendHoldNanos = sendHoldNanos;
    }

    /** Data segments sent for this request. */
    public OptionalLong segmentsOut() {
        return Values.present(segmentsOut);
    }

    /** Smoothed round-trip time in microseconds. */
    public OptionalLong rttMicros() {
        return Values.present(rttMicros);
    }

    /** Smallest round-trip time seen, in microseconds. */
    public OptionalLong minRttMicros() {
        return Values.present(minRttMicros);
    }

    /** Segments sent again since the request began. */
    public OptionalLong retransmits() {
        return Values.present(retransmits);
    }

    /**
     * How long the kernel held bytes back after the last write returned, in nanoseconds: the wait less the time since
     * the last data segment left. Its grain is a kernel tick (4 ms at 250 Hz).
     */
    public OptionalLong sendHoldNanos() {
        return Values.present(sendHoldNanos);
    }

    /** The evidence under the names common to all languages. */
    public Map<String, Object> toMap() {
        Map<String, Object> map = new LinkedHashMap<>();
        Values.put(map, "segments_out", segmentsOut);
        Values.put(map, "rtt_us", rttMicros);
        Values.put(map, "min_rtt_us", minRttMicros);
        Values.put(map, "retransmits", retransmits);
        Values.put(map, "send_hold_ns", sendHoldNanos);
        return map;
    }
}
