package io.github.onewrite;

import java.time.Instant;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The record of a call while the call runs. For adapters: a hook gets the same object as a {@link Timing} when it is
 * complete. Without hooks an adapter holds null instead, which costs one branch per step.
 *
 * <p>Every step takes the clock reading of its moment ({@link System#nanoTime}). Ends without a start, and steps after
 * the end, are ignored; so a late callback cannot break the order.
 *
 * <p>Not thread-safe: the event loop or the thread that carries the call takes its steps, or a {@link HookQueue} orders
 * them. Hooks are called within a step.
 */
public final class TimedCall extends Timing {
    private static final Phase[] CONNECTING = {Phase.QUEUE, Phase.DNS, Phase.CONNECT, Phase.TLS};
    private static final AtomicLong CONNECTIONS = new AtomicLong();

    /** Both clocks, read together. The wall clock is corrected from time to time, so the pair is short-lived. */
    private record Anchor(long mono, long unix) {
        private static final long LIFE_NANOS = 1_000_000_000;
        private static volatile Anchor last = new Anchor(System.nanoTime() - LIFE_NANOS - 1, 0);

        static long unixNanos(long mono) {
            Anchor anchor = last;
            if (mono - anchor.mono > LIFE_NANOS) {
                Instant now = Instant.now();
                anchor = new Anchor(System.nanoTime(), now.getEpochSecond() * 1_000_000_000L + now.getNano());
                last = anchor;
            }
            return anchor.unix + (mono - anchor.mono);
        }
    }

    private final Hooks hooks;
    private final TimingListener[] listeners;
    private final boolean recordListeners;

    private @Nullable Attempt current;
    private @Nullable Phase lostIn;
    private long lastNanos;
    private boolean ended;
    private boolean delivering;

    TimedCall(Hooks hooks, String method, String origin, String target, @Nullable Object tag, long unixNanos, long at) {
        super(method, origin, target, tag, unixNanos, at);
        this.hooks = hooks;
        this.listeners = hooks.listens() ? hooks.listeners(method, url(), tag) : Hooks.NONE;
        this.recordListeners = Hooks.anyRecords(listeners);
        this.lastNanos = at;
        if (listens()) {
            emit(new TimingEvent.CallStart(at, method, url(), startedAtUnixNanos()));
        }
    }

    /** Starts timing a call, or returns null when no hook is set. A hook that runs on this thread is not called again. */
    public static @Nullable TimedCall start(Hooks hooks, String method, String url, @Nullable Object tag) {
        return start(hooks, method, url, "", tag);
    }

    /** The same for a URL in two parts, which are joined when it is needed. */
    public static @Nullable TimedCall start(
            Hooks hooks, String method, String origin, String target, @Nullable Object tag) {
        Hooks called = hooks.withoutRunning();
        if (!called.wanted()) {
            return null;
        }
        long at = System.nanoTime();
        return new TimedCall(called, method, origin, target, tag, Anchor.unixNanos(at), at);
    }

    /** A number for a new connection, which no other connection of this process has. */
    public static long nextConnectionId() {
        return CONNECTIONS.incrementAndGet();
    }

    /** Whether the events of the call are listened to. */
    public boolean listens() {
        return listeners.length > 0;
    }

    /** Begins an attempt, unless one is under way or the call has ended. */
    public void attempt(long at) {
        if (ended || current != null) {
            return;
        }
        Attempt next = new Attempt(attempts().size());
        add(next);
        current = next;
        lostIn = null;
        next.begin(Phase.TOTAL, noEarlier(at));
        if (listens()) {
            emit(new TimingEvent.AttemptStart(lastNanos, next.index));
        }
    }

    /** The attempt under way, or null. */
    public @Nullable Attempt current() {
        return current;
    }

    /** Whether a hook is called at this moment: a step that the hook causes is to be taken after it. */
    public boolean isDelivering() {
        return delivering;
    }

    /** When the attempt under way began, or 0. */
    public long attemptStartedAt() {
        return current == null ? 0 : current.startOf(Phase.TOTAL);
    }

    /** The attempt waits for a connection. */
    public void queueStart(long at) {
        begins(Phase.QUEUE, at, TimingEvent.QueueStart::new);
    }

    public void queueEnd(long at) {
        ends(Phase.QUEUE, at, null);
    }

    /** The attempt waited since its start, where a client reports only the end of the wait. */
    public void queued(long until) {
        queueSinceStart();
        queueEnd(until);
    }

    private void queueSinceStart() {
        Attempt attempt = current;
        if (attempt != null && !attempt.hasBegun(Phase.QUEUE)) {
            long since = attempt.startOf(Phase.TOTAL);
            attempt.begin(Phase.QUEUE, since);
            if (listens()) {
                emit(new TimingEvent.QueueStart(since, attempt.index));
            }
        }
    }

    public void dnsStart(long at, String host) {
        begins(Phase.DNS, at, (time, attempt) -> new TimingEvent.DnsStart(time, attempt, withoutUserInfo(host)));
    }

    /** The name resolved. A failed step is not reported: its phase ends with the attempt. */
    public void dnsEnd(long at) {
        ends(Phase.DNS, at, null);
    }

    public void connectStart(long at) {
        begins(Phase.CONNECT, at, TimingEvent.ConnectStart::new);
    }

    /** The TCP connection is established. */
    public void connectEnd(long at) {
        ends(Phase.CONNECT, at, null);
    }

    public void tlsStart(long at) {
        begins(Phase.TLS, at, TimingEvent.TlsStart::new);
    }

    /** The handshake succeeded. */
    public void tlsEnd(long at) {
        ends(Phase.TLS, at, null);
    }

    /**
     * The connection was made for this attempt, and is reported only now. Ignored when it was made for another: then a
     * later step of this attempt was reported before.
     *
     * @param tlsEnded 0 without TLS
     */
    public void connected(long connectStarted, long connectEnded, long tlsEnded) {
        Attempt attempt = current;
        if (attempt == null
                || connectEnded == 0
                || connectStarted < attempt.startOf(Phase.TOTAL)
                || Math.max(connectEnded, tlsEnded) <= lastNanos) {
            return;
        }
        connectStart(connectStarted);
        connectEnd(connectEnded);
        if (tlsEnded > 0) {
            tlsStart(connectEnded);
            tlsEnd(tlsEnded);
        }
    }

    /**
     * The attempt has its connection, at this moment.
     *
     * @param idle how long the connection was idle, -1 when it is new or that is not known
     * @param requests on it, this one included
     */
    public void connectionAcquired(long connId, long idle, int requests) {
        Attempt attempt = current;
        if (attempt == null || attempt.connId >= 0) {
            return;
        }
        attempt.connId = connId;
        attempt.reused = requests > 1;
        attempt.idleNanos = idle;
        attempt.connRequests = requests;
        if (listens()) {
            emit(new TimingEvent.ConnectionAcquired(
                    noEarlier(System.nanoTime()), attempt.index, connId, requests > 1, idle, requests));
        }
    }

    /** The head is being written, on this thread and in the scope of a tracer. */
    public void requestWrite() {
        if (current != null && recordListeners) {
            deliver(RecordListener::onRequestWrite);
        }
    }

    public void requestStart(long at) {
        begins(Phase.SEND, at, TimingEvent.RequestStart::new);
    }

    /**
     * The last write returned. Ignored once the response has begun: a server may answer early.
     *
     * @param bytes of the request, -1 where they are not known
     * @param writes in which they were handed over, -1 where that is not known
     */
    public void requestEnd(long at, long bytes, int writes) {
        Attempt attempt = ends(Phase.SEND, at);
        if (attempt != null) {
            attempt.bytesSent = bytes;
            attempt.writes = writes;
            attempt.begin(Phase.WAIT, lastNanos);
            if (listens()) {
                emit(new TimingEvent.RequestEnd(lastNanos, attempt.index, bytes, writes));
            }
        }
    }

    /** An interim response came. */
    public void informational(long at, int code) {
        Attempt attempt = current;
        if (attempt != null && listens()) {
            emit(new TimingEvent.Informational(noEarlier(at), attempt.index, code));
        }
    }

    /** The first byte of the final response was read. */
    public void responseStart(long at) {
        ends(Phase.WAIT, at);
        if (current != null && current.isOpen(Phase.SEND)) {
            current.drop(Phase.SEND);
        }
        begins(Phase.RECEIVE, at, TimingEvent.ResponseStart::new);
    }

    /** How long the response was waited for, or -1. */
    public long waited() {
        return current == null ? -1 : current.lengthOf(Phase.WAIT);
    }

    /**
     * Kernel evidence, read at the start of the response.
     *
     * @param windowLimitedNanos how long the peer's receive window kept the kernel from sending
     * @param nagle whether TCP_NODELAY is off; called only if there were several writes
     */
    public void kernel(Kernel evidence, long windowLimitedNanos, BooleanSupplier nagle) {
        Attempt attempt = current;
        if (attempt == null) {
            return;
        }
        attempt.kernel = evidence;
        long waited = waited();
        if (waited >= 0 && evidence.sendHoldNanos().isPresent()) {
            attempt.cause = Cause.of(
                    waited,
                    evidence.sendHoldNanos().getAsLong(),
                    evidence.retransmits().orElse(0),
                    windowLimitedNanos,
                    attempt.writes > 1 && nagle.getAsBoolean());
        }
    }

    /** The head of the final response is complete. */
    public void headersEnd(int code) {
        Attempt attempt = current;
        if (attempt != null) {
            attempt.status = code;
            if (listens()) {
                emit(new TimingEvent.HeadersEnd(noEarlier(System.nanoTime()), attempt.index, code));
                progress();
            }
        }
    }

    /** Listeners get the fields of the attempt so far, before its tracer's span ends. */
    public void progress() {
        Attempt attempt = current;
        if (attempt != null && recordListeners) {
            deliver(listener -> listener.onProgress(attempt));
        }
    }

    /** The last byte of the response was read. */
    public void responseEnd(long at, long bytes) {
        Attempt attempt = ends(Phase.RECEIVE, at);
        if (attempt != null) {
            attempt.bytesReceived = bytes;
            if (listens()) {
                emit(new TimingEvent.ResponseEnd(lastNanos, attempt.index, bytes));
            }
        }
    }

    /** The attempt gave its connection back. The first report counts. */
    public void connectionReleased(long at, boolean reusable) {
        Attempt attempt = current;
        if (attempt != null && attempt.connId >= 0 && !attempt.released && listens()) {
            attempt.released = true;
            emit(new TimingEvent.ConnectionReleased(noEarlier(at), attempt.index, reusable));
        }
    }

    /** Ends the attempt: answered when its status is known, else lost. The call goes on. */
    public void left(long at) {
        Attempt attempt = current;
        if (attempt != null) {
            attemptEnd(at, attempt.status < 0 ? Outcome.ERROR : Outcome.OK, null);
        }
    }

    /**
     * Ends the attempt. A phase that is open ends with it, unless the attempt was answered: then the caller gave up the
     * rest of the body.
     */
    public void attemptEnd(long at, Outcome outcome, @Nullable Throwable error) {
        Attempt attempt = current;
        if (attempt == null) {
            return;
        }
        lostIn = outcome == Outcome.OK ? null : attempt.openPhase();
        String why = error != null
                ? withoutUserInfo(ErrorKinds.text(error))
                : outcome == Outcome.OK ? null : outcome.canonicalName();
        for (Phase phase : CONNECTING) {
            ends(phase, at, why);
        }
        noEarlier(at);
        for (Phase phase = attempt.openPhase(); phase != null; phase = attempt.openPhase()) {
            if (outcome == Outcome.OK) {
                attempt.drop(phase);
            } else {
                ends(phase, at);
            }
        }
        ends(Phase.TOTAL, at);
        attempt.outcome = outcome;
        current = null;
        if (listens()) {
            emit(new TimingEvent.AttemptEnd(lastNanos, attempt.index, outcome));
        }
    }

    /** The call is answered. */
    public void completed(long at) {
        end(at, Outcome.OK, null, null);
    }

    /** The call failed. */
    public void failed(long at, ErrorKind kind, Throwable error) {
        if (kind == ErrorKind.POOL) {
            queueSinceStart();
        }
        end(at, kind == ErrorKind.CANCELLED ? Outcome.CANCELLED : Outcome.ERROR, kind, error);
    }

    /** The caller gave up. */
    public void cancelled(long at) {
        end(at, Outcome.CANCELLED, ErrorKind.CANCELLED, null);
    }

    private void end(long at, Outcome how, @Nullable ErrorKind kind, @Nullable Throwable error) {
        if (ended) {
            return;
        }
        attemptEnd(at, how, error);
        ended = true;
        Phase in = how == Outcome.OK ? null : lostIn;
        seal(noEarlier(at), how, kind, in);
        if (listens()) {
            emit(new TimingEvent.CallEnd(lastNanos, attempts().size() - 1, how, kind, in));
        }
        if (recordListeners) {
            deliver(listener -> listener.onRecord(this));
        }
        hooks.deliver(this);
    }

    private void emit(TimingEvent event) {
        delivering = true;
        hooks.deliver(listeners, event);
        delivering = false;
    }

    private void deliver(Consumer<RecordListener> what) {
        delivering = true;
        hooks.deliver(listeners, what);
        delivering = false;
    }

    /** The time, but not earlier than that of the previous step. */
    private long noEarlier(long at) {
        lastNanos = Math.max(at, lastNanos);
        return lastNanos;
    }

    /** The event of a phase. */
    private interface Event {
        TimingEvent at(long time, int attempt);
    }

    /** Begins a phase, unless the attempt has had it. */
    private void begins(Phase phase, long at, Event event) {
        Attempt attempt = current;
        if (attempt != null && !attempt.hasBegun(phase)) {
            attempt.begin(phase, noEarlier(at));
            if (listens()) {
                emit(event.at(lastNanos, attempt.index));
            }
        }
    }

    /** Ends a phase before the request, if it is open. */
    private void ends(Phase phase, long at, @Nullable String error) {
        Attempt attempt = ends(phase, at);
        if (attempt != null && listens()) {
            emit(
                    switch (phase) {
                        case QUEUE -> new TimingEvent.QueueEnd(lastNanos, attempt.index);
                        case DNS -> new TimingEvent.DnsEnd(lastNanos, attempt.index, error);
                        case CONNECT -> new TimingEvent.ConnectEnd(lastNanos, attempt.index, error);
                        default -> new TimingEvent.TlsEnd(lastNanos, attempt.index, error);
                    });
        }
    }

    /** Ends a phase if it is open; else the result is null. */
    private @Nullable Attempt ends(Phase phase, long at) {
        Attempt attempt = current;
        if (attempt == null || !attempt.isOpen(phase)) {
            return null;
        }
        attempt.finish(phase, noEarlier(Math.max(at, attempt.startOf(phase) + 1)));
        return attempt;
    }
}
