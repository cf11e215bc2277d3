package io.github.onewrite.internal;

import io.github.onewrite.Cause;
import io.github.onewrite.ErrorKind;
import io.github.onewrite.Kernel;
import io.github.onewrite.Outcome;
import io.github.onewrite.Phase;
import io.github.onewrite.Timing;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * The record of a request, which an adapter fills while the request runs, and the hooks get when it is over. It takes clock
 * readings and counts; phases, events and texts are made from them when they are read. Whoever owns the request orders the
 * calls: an event loop, or a thread at a time.
 *
 * <p>A time is a reading of {@link System#nanoTime}, 0 where the moment did not come. A number below 0 is not known.
 */
public class Stamps implements Timing {
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

    /** The phase in which the request fails, where its moments do not show it. */
    public @Nullable Phase errorPhase;

    private final long[] times = new long[MOMENTS.length];
    private final long started;
    private long ended;
    private long endedAtMillis;
    private Outcome outcome = Outcome.OK;
    private @Nullable ErrorKind errorKind;

    /** @param startedAt when the base library asked for a connection, of {@link System#nanoTime} */
    public Stamps(long startedAt) {
        this.started = startedAt;
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
     * What the kernel says of the wait, which is over.
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
    public final void ok(long at) {
        end(at);
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

    private void end(long at) {
        ended = at;
        endedAtMillis = System.currentTimeMillis();
    }

    private @Nullable Phase openPhase() {
        for (int i = PHASES.length - 1; i >= 0; i--) {
            if (at(STARTS[i]) != 0) {
                return at(ENDS[i]) == 0 ? PHASES[i] : null;
            }
        }
        return null;
    }

    @Override
    public final String method() {
        return method;
    }

    @Override
    public final String url() {
        return Urls.shown(origin.concat(target));
    }

    @Override
    public final Outcome outcome() {
        return outcome;
    }

    @Override
    public final OptionalInt status() {
        return status < 0 ? OptionalInt.empty() : OptionalInt.of(status);
    }

    @Override
    public final Optional<ErrorKind> errorKind() {
        return Optional.ofNullable(errorKind);
    }

    @Override
    public final Optional<Phase> errorPhase() {
        return Optional.ofNullable(outcome == Outcome.OK ? null : errorPhase);
    }

    @Override
    public final OptionalInt resend() {
        return resend == 0 ? OptionalInt.empty() : OptionalInt.of(resend);
    }

    @Override
    public final OptionalLong connId() {
        return present(connection);
    }

    @Override
    public final Optional<Boolean> reused() {
        return connection < 0 ? Optional.empty() : Optional.of(requests > 1);
    }

    @Override
    public final OptionalLong idleNanos() {
        return present(idle);
    }

    @Override
    public final OptionalInt connRequests() {
        return connection < 0 ? OptionalInt.empty() : OptionalInt.of(requests);
    }

    @Override
    public final Optional<String> proxy() {
        return Optional.ofNullable(proxy);
    }

    @Override
    public final OptionalLong bytesSent() {
        return present(bytesSent);
    }

    @Override
    public final OptionalInt writes() {
        return writes < 0 ? OptionalInt.empty() : OptionalInt.of(writes);
    }

    @Override
    public final OptionalLong bytesReceived() {
        return present(bytesReceived);
    }

    private static OptionalLong present(long value) {
        return value < 0 ? OptionalLong.empty() : OptionalLong.of(value);
    }

    @Override
    public final OptionalLong nanos(Phase phase) {
        return present(length(phase));
    }

    /** At least 1, or -1 for a phase that did not happen: there is no wait where the response came before the request's end. */
    private long length(Phase phase) {
        long start = at(STARTS[phase.ordinal()]);
        long end = at(ENDS[phase.ordinal()]);
        if (end == 0 && phase == errorPhase) {
            end = ended;
        }
        return start == 0 || end < start ? -1 : Math.max(1, end - start);
    }

    @Override
    public final long totalNanos() {
        return ended - started;
    }

    @Override
    public final Optional<Kernel> kernel() {
        return Optional.ofNullable(kernel);
    }

    @Override
    public final Optional<Cause> cause() {
        return Optional.ofNullable(cause);
    }

    @Override
    public final long startedAtUnixNanos() {
        return TimeUnit.MILLISECONDS.toNanos(endedAtMillis) - totalNanos();
    }

    @Override
    public final long startedAtMonoNanos() {
        return started;
    }

    @Override
    public final List<Event> events() {
        List<Event> events = new ArrayList<>(MOMENTS.length);
        for (Moment moment : MOMENTS) {
            if (at(moment) != 0) {
                events.add(new Event(moment.canonicalName, at(moment)));
            }
        }
        return List.copyOf(events);
    }

    @Override
    public final Map<String, Object> toMap() {
        Map<String, Object> map = new LinkedHashMap<>();
        map.put("method", method);
        if (!url().isEmpty()) {
            map.put("url", url());
        }
        map.put("outcome", outcome.canonicalName());
        put(map, "status", status);
        errorKind().ifPresent(kind -> map.put("error_kind", kind.canonicalName()));
        errorPhase().ifPresent(phase -> map.put("error_phase", phase.canonicalName()));
        put(map, "resend", resend == 0 ? -1 : resend);
        put(map, "conn_id", connection);
        reused().ifPresent(used -> map.put("reused", used));
        put(map, "idle_ns", idle);
        put(map, "conn_requests", connection < 0 ? -1 : requests);
        proxy().ifPresent(through -> map.put("proxy", through));
        put(map, "bytes_sent", bytesSent);
        put(map, "writes", writes);
        put(map, "bytes_received", bytesReceived);
        for (Phase phase : PHASES) {
            put(map, phase.canonicalName() + "_ns", length(phase));
        }
        map.put("total_ns", totalNanos());
        kernel().ifPresent(evidence -> map.put("kernel", evidence.toMap()));
        cause().ifPresent(why -> map.put("cause", why.canonicalName()));
        map.put("started_at_unix_ns", startedAtUnixNanos());
        map.put("started_at_mono_ns", started);
        return map;
    }

    private static void put(Map<String, Object> map, String name, long value) {
        if (value >= 0) {
            map.put(name, value);
        }
    }

    @Override
    public final String toString() {
        return Text.of(this);
    }
}
