package io.github.onewrite;

import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** Why the response was long in coming, as far as the local kernel shows. */
public enum Cause {
    /** The kernel held bytes back after the last write returned, waiting for an ACK the peer delayed. */
    NAGLE_DELAYED_ACK,
    /** Bytes left late because earlier ones had to be sent again. */
    RETRANSMIT,
    /** The peer's receive window was closed. */
    PEER_WINDOW,
    /** The bytes had left; the peer, or what is behind it, took its time. */
    SERVER;

    /** Shorter holds and waits have no cause: 20 ms is half of Linux's shortest delayed ACK. */
    private static final long WORTH_NAMING_NANOS = 20_000_000;

    private final String canonicalName = name().toLowerCase(Locale.ROOT);

    /** The name common to all languages. */
    public String canonicalName() {
        return canonicalName;
    }

    /**
     * Names the cause of a wait.
     *
     * @param waitNanos from the last write's return to the first byte of the response
     * @param holdNanos how long of it the kernel held bytes back
     * @param retransmits segments sent again since the request began
     * @param windowLimitedNanos how long the peer's window kept the kernel from sending; 0 where it cannot be read
     * @param nagle whether Nagle's algorithm can have held bytes: TCP_NODELAY is off, and there were two writes or more
     * @return null when there is nothing to explain, or when something else held the bytes: pacing, a queue, the network
     */
    public static @Nullable Cause of(
            long waitNanos, long holdNanos, long retransmits, long windowLimitedNanos, boolean nagle) {
        if (holdNanos >= WORTH_NAMING_NANOS) {
            // The window first: probes of a closed window count as retransmits.
            if (windowLimitedNanos > holdNanos / 2) {
                return PEER_WINDOW;
            }
            if (retransmits > 0) {
                return RETRANSMIT;
            }
            return nagle ? NAGLE_DELAYED_ACK : null;
        }
        return waitNanos >= WORTH_NAMING_NANOS ? SERVER : null;
    }
}
