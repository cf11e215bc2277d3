package io.github.onewrite.spi;

import io.github.onewrite.Attempt;
import io.github.onewrite.Cause;
import io.github.onewrite.ErrorKind;
import io.github.onewrite.Kernel;
import io.github.onewrite.Outcome;
import io.github.onewrite.Phase;
import io.github.onewrite.ServerTiming;
import io.github.onewrite.Timing;
import io.github.onewrite.TimingEvent;
import io.github.onewrite.TimingListener;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Times one call, sends its events to the listeners, and builds the record at its end. Without hooks an adapter holds
 * null instead, which costs one branch per step.
 *
 * <p>Confined to the thread that carries the call; a hand-over to another thread must publish it safely. Where several
 * threads carry a call, each uses {@link #step}. Each method is called when its step happens; ends without a start, and
 * steps after the end, are ignored. So a late callback cannot break the order.
 */
public final class CallTimer {
    private static final int PHASES = Phase.values().length;

    /** The phases before the first attempt, when none can begin. */
    private static final long[] NONE = none();

    private final Hooks hooks;
    private final String method;
    private final String url;
    private final @Nullable String userInfo;
    private final @Nullable Object tag;
    private final List<TimingListener> listeners;
    private final List<RecordListener> recordListeners;
    private final long startedAtUnixNanos;
    private final long startedAtMonoNanos;
    private List<Attempt> attempts = List.of();
    private boolean ended;

    /** Calls of hooks that wait until the lock is free. */
    private final ArrayDeque<Runnable> outbox = new ArrayDeque<>(0);

    private int stepping;
    private boolean delivering;

    // The attempt under way; index -1 before the first.
    private int index = -1;
    private boolean attempting;
    private long[] starts = NONE;
    private long[] phases = NONE;
    private long lastNanos;
    private int openPhases;
    private long requestEnd = -1;
    private int status = -1;
    private long connId = -1;
    private boolean reused;
    private long idleNanos = -1;
    private int connRequests = -1;
    private long bytesSent = -1;
    private int writes = -1;
    private long bytesReceived = -1;
    private @Nullable Kernel kernel;
    private @Nullable Cause cause;
    private List<ServerTiming> serverTiming = List.of();

    private CallTimer(Hooks hooks, String method, String url, @Nullable Object tag) {
        this.hooks = hooks;
        this.method = method;
        this.url = Redaction.of(url);
        this.userInfo = Redaction.userInfo(url);
        this.tag = tag;
        this.listeners = hooks.listeners(method, this.url, tag);
        this.recordListeners = Hooks.recordListeners(listeners);
        Instant now = Instant.now();
        this.startedAtUnixNanos = now.getEpochSecond() * 1_000_000_000L + now.getNano();
        this.startedAtMonoNanos = System.nanoTime();
        this.lastNanos = startedAtMonoNanos;
        if (listening()) {
            emit(new TimingEvent.CallStart(startedAtMonoNanos, method, this.url, startedAtUnixNanos));
        }
    }

    /** Starts timing a call, or answers null when nothing listens. */
    public static @Nullable CallTimer start(Hooks hooks, String method, String url, @Nullable Object tag) {
        return hooks.wanted() ? new CallTimer(hooks, method, url, tag) : null;
    }

    /**
     * Takes a step under this timer's lock, and calls the hooks after it without a lock. A thread that finds another one
     * calling hooks leaves its own events to that one: so they stay in order, and one at a time.
     */
    public void step(Consumer<CallTimer> step) {
        if (take(step)) {
            deliver();
        }
    }

    /** Takes a step. @return whether hooks wait for {@link #deliver}, which is to be called without a lock */
    synchronized boolean take(Consumer<CallTimer> step) {
        stepping++;
        try {
            step.accept(this);
        } finally {
            stepping--;
        }
        return stepping == 0 && !outbox.isEmpty();
    }

    /** Calls the hooks that wait. */
    void deliver() {
        for (Runnable next = next(); next != null; next = next()) {
            try {
                next.run();
            } finally {
                synchronized (this) {
                    delivering = false;
                }
            }
        }
    }

    private synchronized @Nullable Runnable next() {
        if (delivering || stepping > 0) {
            return null;
        }
        Runnable next = outbox.poll();
        delivering = next != null;
        return next;
    }

    /** Hooks never throw here: {@link Hooks} swallows what they throw. */
    private void call(Runnable hook) {
        if (stepping > 0) {
            outbox.add(hook);
        } else {
            hook.run();
        }
    }

    public void attemptStart() {
        if (ended || attempting) {
            return;
        }
        attempting = true;
        index++;
        starts = new long[PHASES];
        phases = none();
        openPhases = 0;
        requestEnd = -1;
        status = -1;
        connId = -1;
        reused = false;
        idleNanos = -1;
        connRequests = -1;
        bytesSent = -1;
        writes = -1;
        bytesReceived = -1;
        kernel = null;
        cause = null;
        serverTiming = List.of();
        long now = begin(Phase.TOTAL);
        if (listening()) {
            emit(new TimingEvent.AttemptStart(now, index));
        }
    }

    public void queueStart() {
        if (begins(Phase.QUEUE)) {
            emit(new TimingEvent.QueueStart(lastNanos, index));
        }
    }

    public void queueEnd() {
        if (ends(Phase.QUEUE)) {
            emit(new TimingEvent.QueueEnd(lastNanos, index));
        }
    }

    /** The attempt has waited for a connection since it began: for clients that report only the end of the wait. */
    public void queuedSinceStart() {
        if (absent(Phase.QUEUE)) {
            long since = begin(Phase.QUEUE, starts[Phase.TOTAL.ordinal()]);
            if (listening()) {
                emit(new TimingEvent.QueueStart(since, index));
            }
        }
    }

    /** When the attempt under way began. */
    public long attemptStartedAt() {
        return starts[Phase.TOTAL.ordinal()];
    }

    public void dnsStart(String host) {
        if (begins(Phase.DNS)) {
            emit(new TimingEvent.DnsStart(lastNanos, index, shown(host)));
        }
    }

    /**
     * The name resolved, or did not.
     *
     * @param error null when it went well
     */
    public void dnsEnd(@Nullable Throwable error) {
        if (ends(Phase.DNS)) {
            emit(new TimingEvent.DnsEnd(lastNanos, index, text(error)));
        }
    }

    public void connectStart() {
        if (begins(Phase.CONNECT)) {
            emit(new TimingEvent.ConnectStart(lastNanos, index));
        }
    }

    /**
     * The TCP connection is established, or failed.
     *
     * @param error null when it went well
     */
    public void connectEnd(@Nullable Throwable error) {
        if (ends(Phase.CONNECT)) {
            emit(new TimingEvent.ConnectEnd(lastNanos, index, text(error)));
        }
    }

    public void tlsStart() {
        if (begins(Phase.TLS)) {
            emit(new TimingEvent.TlsStart(lastNanos, index));
        }
    }

    /**
     * The handshake ended.
     *
     * @param error null when it went well
     */
    public void tlsEnd(@Nullable Throwable error) {
        if (ends(Phase.TLS)) {
            emit(new TimingEvent.TlsEnd(lastNanos, index, text(error)));
        }
    }

    /**
     * The connection was made for this attempt, and is reported only now. Ignored when a later step was reported: it was
     * then made for another.
     *
     * @param tlsEnded 0 without TLS
     */
    public void connected(long connectStarted, long connectEnded, long tlsEnded) {
        if (!absent(Phase.CONNECT) || Math.max(connectEnded, tlsEnded) <= lastNanos) {
            return;
        }
        begin(Phase.CONNECT, noEarlier(connectStarted));
        if (listening()) {
            emit(new TimingEvent.ConnectStart(lastNanos, index));
        }
        finish(Phase.CONNECT, noEarlier(connectEnded));
        if (listening()) {
            emit(new TimingEvent.ConnectEnd(lastNanos, index, null));
        }
        if (tlsEnded > 0 && absent(Phase.TLS)) {
            begin(Phase.TLS, lastNanos);
            if (listening()) {
                emit(new TimingEvent.TlsStart(lastNanos, index));
            }
            finish(Phase.TLS, noEarlier(tlsEnded));
            if (listening()) {
                emit(new TimingEvent.TlsEnd(lastNanos, index, null));
            }
        }
    }

    /**
     * The attempt has its connection.
     *
     * @param idle how long the connection was idle, -1 when it is new
     */
    public void connectionAcquired(PooledConnection connection, boolean used, long idle, int requests) {
        if (!attempting || connId >= 0) {
            return;
        }
        connId = connection.id();
        reused = used;
        idleNanos = idle;
        connRequests = requests;
        if (listening()) {
            emit(new TimingEvent.ConnectionAcquired(now(), index, connId, used, idle, requests));
            call(() -> hooks.deliver(recordListeners, each -> each.onConnection(connection)));
        }
    }

    /** The head is being written, on this thread. */
    public void requestWrite() {
        if (attempting && !recordListeners.isEmpty()) {
            call(() -> hooks.deliver(recordListeners, RecordListener::onRequestWrite));
        }
    }

    public void requestStart() {
        if (begins(Phase.SEND)) {
            emit(new TimingEvent.RequestStart(lastNanos, index));
        }
    }

    /** The last write returned. Ignored once the response has begun: a server may answer early. */
    public void requestEnd(long bytes, int flushes) {
        if (open(Phase.SEND) && absent(Phase.RECEIVE)) {
            requestEnd = finish(Phase.SEND);
            bytesSent = bytes;
            writes = flushes;
            begin(Phase.WAIT, requestEnd);
            if (listening()) {
                emit(new TimingEvent.RequestEnd(requestEnd, index, bytes, flushes));
            }
        }
    }

    public void informational(int code) {
        if (attempting && listening()) {
            emit(new TimingEvent.Informational(now(), index, code));
        }
    }

    /**
     * The final response began.
     *
     * @param readNanos when its first byte was read
     */
    public void responseStart(long readNanos) {
        if (!absent(Phase.RECEIVE)) {
            return;
        }
        // The read may have been stamped before the write's return; times of a record never decrease.
        long at = Math.max(readNanos, lastNanos);
        lastNanos = at;
        if (open(Phase.WAIT)) {
            finish(Phase.WAIT, at);
        } else {
            openPhases &= ~bit(Phase.SEND);
        }
        begin(Phase.RECEIVE, at);
        if (listening()) {
            emit(new TimingEvent.ResponseStart(at, index));
        }
    }

    /** Whether the head of a final response was read in the attempt under way. */
    public boolean answered() {
        return attempting && status >= 0;
    }

    /** How long the response was waited for, or -1. */
    public long waitNanos() {
        return phases[Phase.WAIT.ordinal()];
    }

    /**
     * Kernel evidence read at the start of the response.
     *
     * @param windowLimitedNanos how long the peer's receive window kept the kernel from sending
     * @param nagle whether TCP_NODELAY is off; called only if there were several writes
     */
    public void kernel(Kernel evidence, long windowLimitedNanos, BooleanSupplier nagle) {
        kernel = evidence;
        long waited = waitNanos();
        if (waited >= 0 && evidence.sendHoldNanos().isPresent()) {
            cause = Cause.of(
                    waited,
                    evidence.sendHoldNanos().getAsLong(),
                    evidence.retransmits().orElse(0),
                    windowLimitedNanos,
                    writes > 1 && nagle.getAsBoolean());
        }
    }

    /**
     * The head of the final response is complete.
     *
     * @param timings its {@code Server-Timing} fields
     */
    public void headersEnd(int code, List<String> timings) {
        if (attempting) {
            status = code;
            serverTiming = timings.isEmpty() ? List.of() : ServerTimings.parse(timings);
            if (listening()) {
                emit(new TimingEvent.HeadersEnd(now(), index, code));
                progress();
            }
        }
    }

    /** The attempt is lost and about to end: listeners get what is known of it before its tracer's span ends. */
    public void progress() {
        if (attempting && !recordListeners.isEmpty()) {
            Attempt soFar = attempt(Outcome.OK, starts.clone(), phases.clone());
            call(() -> hooks.deliver(recordListeners, each -> each.onProgress(soFar)));
        }
    }

    public void responseEnd(long bytes) {
        if (open(Phase.RECEIVE)) {
            long now = finish(Phase.RECEIVE);
            bytesReceived = bytes;
            if (listening()) {
                emit(new TimingEvent.ResponseEnd(now, index, bytes));
            }
        }
    }

    public void connectionReleased(boolean reusable) {
        if (attempting && connId >= 0 && listening()) {
            emit(new TimingEvent.ConnectionReleased(now(), index, reusable));
        }
    }

    /** The phase under way, for an error; null when there is none. */
    public @Nullable Phase phase() {
        for (int i = PHASES - 2; i >= 0; i--) {
            if ((openPhases & (1 << i)) != 0) {
                return Phase.values()[i];
            }
        }
        return null;
    }

    /** Ends the attempt; steps still open end with it. */
    public void attemptEnd(Outcome outcome, @Nullable Throwable error) {
        attemptEnd(System.nanoTime(), outcome, error);
    }

    private void attemptEnd(long when, Outcome outcome, @Nullable Throwable error) {
        if (!attempting) {
            return;
        }
        Throwable why = error == null && outcome != Outcome.OK ? new CancelledStep(outcome) : error;
        queueEnd();
        dnsEnd(why);
        connectEnd(why);
        tlsEnd(why);
        long at = finish(Phase.TOTAL, noEarlier(when));
        attempting = false;
        openPhases = 0;
        Attempt done = attempt(outcome, starts, phases);
        attempts = attempts.isEmpty() ? List.of(done) : with(attempts, done);
        if (listening()) {
            emit(new TimingEvent.AttemptEnd(at, index, outcome));
        }
    }

    private Attempt attempt(Outcome outcome, long[] begun, long[] lengths) {
        return Attempt.builder(index)
                .status(status)
                .connection(connId, reused, idleNanos, connRequests)
                .sent(bytesSent, writes)
                .received(bytesReceived)
                .phases(begun, lengths)
                .kernel(kernel, cause)
                .serverTiming(serverTiming, ServerTimings.serverNanos(serverTiming, waitNanos()))
                .build(outcome);
    }

    /** Ends the call, once: the last event, then the record. */
    public void callEnd(Outcome outcome, @Nullable ErrorKind kind, @Nullable Phase failedIn) {
        callEnd(System.nanoTime(), outcome, kind, failedIn);
    }

    /** The same for a call that ended at a time before now. */
    public void callEnd(long when, Outcome outcome, @Nullable ErrorKind kind, @Nullable Phase failedIn) {
        if (ended) {
            return;
        }
        attemptEnd(when, outcome, null);
        ended = true;
        long at = noEarlier(when);
        if (listening()) {
            emit(new TimingEvent.CallEnd(at, index, outcome, kind, failedIn));
        }
        Timing timing = new Timing(
                method,
                url,
                tag,
                outcome,
                kind,
                failedIn,
                startedAtUnixNanos,
                startedAtMonoNanos,
                at - startedAtMonoNanos,
                attempts);
        call(() -> {
            hooks.deliver(recordListeners, each -> each.onRecord(timing));
            hooks.deliver(timing);
            FlightRecorder.commit(timing);
        });
    }

    private boolean listening() {
        return !listeners.isEmpty();
    }

    private void emit(TimingEvent event) {
        call(() -> hooks.deliver(listeners, event));
    }

    private long now() {
        return noEarlier(System.nanoTime());
    }

    /** The time, but not earlier than that of the previous step. */
    private long noEarlier(long when) {
        lastNanos = Math.max(when, lastNanos);
        return lastNanos;
    }

    private static long[] none() {
        long[] phases = new long[PHASES];
        Arrays.fill(phases, -1);
        return phases;
    }

    private static List<Attempt> with(List<Attempt> earlier, Attempt last) {
        List<Attempt> all = new ArrayList<>(earlier);
        all.add(last);
        return List.copyOf(all);
    }

    private static int bit(Phase phase) {
        return 1 << phase.ordinal();
    }

    private boolean open(Phase phase) {
        return (openPhases & bit(phase)) != 0;
    }

    /** True when the phase has neither begun nor ended in the attempt under way. */
    private boolean absent(Phase phase) {
        return attempting && !open(phase) && phases[phase.ordinal()] < 0;
    }

    /** Begins a phase, at {@link #lastNanos}, unless the attempt has had it; true when listeners want the event. */
    private boolean begins(Phase phase) {
        if (!absent(phase)) {
            return false;
        }
        begin(phase);
        return listening();
    }

    /** Ends a phase, at {@link #lastNanos}, if it is open; true when listeners want the event. */
    private boolean ends(Phase phase) {
        if (!open(phase)) {
            return false;
        }
        finish(phase);
        return listening();
    }

    private long begin(Phase phase) {
        return begin(phase, now());
    }

    private long begin(Phase phase, long at) {
        starts[phase.ordinal()] = at;
        openPhases |= bit(phase);
        return at;
    }

    private long finish(Phase phase) {
        return finish(phase, now());
    }

    private long finish(Phase phase, long at) {
        phases[phase.ordinal()] = at - starts[phase.ordinal()];
        openPhases &= ~bit(phase);
        return at;
    }

    private @Nullable String text(@Nullable Throwable error) {
        return error == null ? null : shown(ErrorKinds.text(error));
    }

    /** Reactor Netty takes user information in a URL for a part of the host name, and shows it in its errors. */
    private String shown(String text) {
        return userInfo == null ? text : text.replace(userInfo, "");
    }

    /** The error of a step that was still open when its attempt ended. Never thrown. */
    private static final class CancelledStep extends RuntimeException {
        private static final long serialVersionUID = 1L;

        CancelledStep(Outcome outcome) {
            super(outcome.canonicalName(), null, false, false);
        }
    }
}
