package io.github.onewrite;

import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** Why the response was long in coming, as far as the client's kernel shows. */
public enum Cause {
    /** Nagle's algorithm held bytes back until the peer sent an ACK, which it delayed. */
    NAGLE_DELAYED_ACK,
    /** Bytes left late because earlier ones had to be sent again. */
    RETRANSMIT,
    /** The peer's receive window was closed. */
    PEER_WINDOW,
    /** The response lay in the client's socket buffer: the program was busy. */
    CLIENT,
    /** The bytes had left; the peer, or what is behind it, took its time. */
    SERVER;

    /** Half of Linux's shortest delayed ACK: shorter waits have no cause. */
    private static final long WORTH_NAMING_NANOS = 20_000_000;

    private final String canonicalName = name().toLowerCase(Locale.ROOT);

    /** The name common to all languages. */
    public String canonicalName() {
        return canonicalName;
    }

    /**
     * Names the cause of a wait by the largest of its three shares: the kernel held the request, the response lay unread, or
     * neither.
     *
     * @param waitNanos from the last write's return to the first byte of the response
     * @param windowLimitedNanos how long of it the peer's window kept the kernel from sending
     * @param nagle whether Nagle's algorithm can have held bytes: TCP_NODELAY is off, and there were two writes or more
     * @return null for a short wait, and where something else held the bytes: pacing, a queue of the network device
     */
    public static @Nullable Cause of(long waitNanos, Kernel kernel, long windowLimitedNanos, boolean nagle) {
        if (waitNanos < WORTH_NAMING_NANOS) {
            return null;
        }
        long held = kernel.sendHoldNanos();
        long unread = kernel.unreadNanos();
        long rest = Math.max(0, waitNanos - held - unread);
        if (held < Math.max(unread, rest)) {
            return unread < rest ? SERVER : CLIENT;
        }
        // The window first: probes of a closed window count as retransmits.
        if (windowLimitedNanos > held / 2) {
            return PEER_WINDOW;
        }
        if (kernel.retransmits() > 0) {
            return RETRANSMIT;
        }
        return nagle ? NAGLE_DELAYED_ACK : null;
    }
}
