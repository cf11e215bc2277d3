package io.github.onewrite.internal;

import io.github.onewrite.Cause;
import io.github.onewrite.ErrorKind;
import io.github.onewrite.Kernel;
import io.github.onewrite.Outcome;
import io.github.onewrite.Phase;
import io.github.onewrite.Timing;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * Clock readings and counts of a request, which an adapter fills while the request runs. A {@link Timing} shows them when it is
 * over. Calls come in order: an event loop, or one thread at a time, owns the request.
 *
 * <p>A time is a reading of {@link System#nanoTime}, 0 where the moment did not come. A number below 0 is not known.
 */
public class Stamps {
    private static final Moment[] MOMENTS = Moment.values();
    private static final Phase[] PHASES = Phase.values();
    private static final AtomicLong CONNECTIONS = new AtomicLong();

    /** By the order of {@link Phase}. */
    private static final Moment[] STARTS = {
        Moment.QUEUE_START,
        Moment.DNS_START,
        Moment.CONNECT_START,
        Moment.TLS_START,
        Moment.REQUEST_START,
        Moment.REQUEST_END,
        Moment.RESPONSE_START
    };

    private static final Moment[] ENDS = {
        Moment.QUEUE_END,
        Moment.DNS_END,
        Moment.CONNECT_END,
        Moment.TLS_END,
        Moment.REQUEST_END,
        Moment.RESPONSE_START,
        Moment.RESPONSE_END
    };

    public String method = "";

    /** Scheme and authority, or the empty string where the target has them. */
    public String origin = "";

    public String target = "";
    public int resend;
    public int status = -1;
    public long connection = -1;

    /** Requests on the connection, this one included. */
    public int requests;

    /** In nanoseconds. */
    public long idle = -1;

    public @Nullable String proxy;
    public long bytesSent = -1;
    public int writes = -1;
    public long bytesReceived = -1;
    public @Nullable Kernel kernel;
    public @Nullable Cause cause;

    public Outcome outcome = Outcome.OK;
    public @Nullable ErrorKind errorKind;

    /** The phase in which the request fails, where its moments do not show it. */
    public @Nullable Phase errorPhase;

    /** When the base library asked for a connection. */
    public final long startedAt;

    private final long[] times = new long[MOMENTS.length];
    private long ended;
    private long endedAtMillis;

    /** @param startedAt when the base library asked for a connection, of {@link System#nanoTime} */
    public Stamps(long startedAt) {
        this.startedAt = startedAt;
    }

    /** A number that no other connection of this process has. */
    public static long nextConnectionId() {
        return CONNECTIONS.incrementAndGet();
    }

    /** The moment came now; a later call replaces an earlier one. */
    public final void stamp(Moment moment, long at) {
        times[moment.ordinal()] = at;
    }

    /** Takes a moment back, as with the first byte of an interim response. */
    public final void clear(Moment moment) {
        times[moment.ordinal()] = 0;
    }

    /** When the moment came, or 0. */
    public final long at(Moment moment) {
        return times[moment.ordinal()];
    }

    /** Whether the request has ended: what is stamped later would change a record that a hook has. */
    public final boolean isOver() {
        return ended != 0;
    }

    /**
     * Adds the kernel's view of the wait, which is over.
     *
     * @param readAt when it was asked
     * @param lastSentMillis how long before that it had sent data last, and received data last
     * @param windowLimitedNanos how long the peer's window kept it from sending, since the request began
     * @param nodelay whether TCP_NODELAY is on
     */
    public final void evidence(
            long readAt,
            long segmentsOut,
            long rttMicros,
            long minRttMicros,
            long retransmits,
            long lastSentMillis,
            long lastReceivedMillis,
            long windowLimitedNanos,
            boolean nodelay) {
        long waited = at(Moment.RESPONSE_START) - at(Moment.REQUEST_END);
        long readAfter = readAt - at(Moment.RESPONSE_START);
        long held = waited - TimeUnit.MILLISECONDS.toNanos(lastSentMillis);
        long unread = TimeUnit.MILLISECONDS.toNanos(lastReceivedMillis) - readAfter;
        kernel = new Kernel(
                segmentsOut, rttMicros, minRttMicros, retransmits, Math.max(0, held), clamped(unread, waited));
        cause = Cause.of(waited, kernel, windowLimitedNanos, writes > 1 && !nodelay);
    }

    private static long clamped(long nanos, long max) {
        return Math.min(Math.max(0, nanos), max);
    }

    /** The program has its response. */
    public final void end(long at) {
        ended = at;
        endedAtMillis = System.currentTimeMillis();
    }

    /** The request failed, or was given up. A phase that is under way is the one in which it failed. */
    public final void failed(ErrorKind kind, long at) {
        end(at);
        outcome = kind == ErrorKind.CANCELLED ? Outcome.CANCELLED : Outcome.ERROR;
        errorKind = kind;
        if (errorPhase == null) {
            errorPhase = openPhase();
        }
    }

    private @Nullable Phase openPhase() {
        for (int i = PHASES.length - 1; i >= 0; i--) {
            if (at(STARTS[i]) != 0) {
                return at(ENDS[i]) == 0 ? PHASES[i] : null;
            }
        }
        return null;
    }

    /** Scheme, host, port and path. */
    public final String url() {
        return Urls.shown(origin.concat(target));
    }

    public final long totalNanos() {
        return ended - startedAt;
    }

    /** Of the wall clock, which is read once. */
    public final long startedAtUnixNanos() {
        return TimeUnit.MILLISECONDS.toNanos(endedAtMillis) - totalNanos();
    }

    /** At least 1, or -1 for a phase that did not happen: there is no wait where the response came before the request's end. */
    public final long length(Phase phase) {
        long start = at(STARTS[phase.ordinal()]);
        long end = at(ENDS[phase.ordinal()]);
        if (end == 0 && phase == errorPhase) {
            end = ended;
        }
        return start == 0 || end < start ? -1 : Math.max(1, end - start);
    }
}
