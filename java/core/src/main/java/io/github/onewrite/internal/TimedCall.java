package io.github.onewrite.internal;

import io.github.onewrite.Attempt;
import io.github.onewrite.Cause;
import io.github.onewrite.ErrorKind;
import io.github.onewrite.Kernel;
import io.github.onewrite.Outcome;
import io.github.onewrite.Phase;
import io.github.onewrite.RecordListener;
import io.github.onewrite.Redaction;
import io.github.onewrite.Timing;
import io.github.onewrite.TimingEvent;
import io.github.onewrite.TimingListener;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The record of a call, from its start on: a hook gets the same object as a {@link Timing}. Without hooks an adapter holds
 * null instead, which costs one branch per step.
 *
 * <p>Every step takes the clock reading of its moment ({@link System#nanoTime}). Ends without a start, and steps after
 * the end, are ignored; so a late callback cannot break the order.
 *
 * <p>Not thread-safe: the event loop or the thread that carries the call takes its steps, or a {@link HookQueue} orders
 * them. Hooks are called within a step. What a step causes that a hook takes is delivered after that hook.
 */
public final class TimedCall implements Timing {
    private static final Phase[] PHASES = Phase.values();

    /** The events that begin and end a phase, in the order of {@link Phase}. */
    private static final TimingEvent.Type[] STARTS = {
        TimingEvent.Type.QUEUE_START,
        TimingEvent.Type.DNS_START,
        TimingEvent.Type.CONNECT_START,
        TimingEvent.Type.TLS_START,
        TimingEvent.Type.REQUEST_START,
        TimingEvent.Type.REQUEST_END,
        TimingEvent.Type.RESPONSE_START
    };

    private static final TimingEvent.Type[] ENDS = {
        TimingEvent.Type.QUEUE_END, TimingEvent.Type.DNS_END, TimingEvent.Type.CONNECT_END, TimingEvent.Type.TLS_END
    };

    private static final AtomicLong CONNECTIONS = new AtomicLong();

    /** Both clocks, read together. The wall clock is corrected from time to time, so the pair is short-lived. */
    private record Anchor(long mono, long unix) {
        private static final long LIFE_NANOS = 1_000_000_000;
        private static volatile Anchor last = now();

        private static Anchor now() {
            Instant now = Instant.now();
            return new Anchor(System.nanoTime(), now.getEpochSecond() * 1_000_000_000L + now.getNano());
        }

        static long unixNanos(long mono) {
            Anchor anchor = last;
            if (mono - anchor.mono > LIFE_NANOS) {
                anchor = now();
                last = anchor;
            }
            return anchor.unix + (mono - anchor.mono);
        }
    }

    private final Hooks hooks;
    private final TimingListener[] listeners;
    private final boolean events;
    private final boolean records;

    private final String method;
    private final String origin;
    private final String target;

    /** Made when it is needed first. */
    private @Nullable String url;

    private final @Nullable Object tag;
    private final long startedAtUnixNanos;
    private final long startedAtMonoNanos;
    private int status = -1;
    private Outcome outcome = Outcome.OK;
    private @Nullable ErrorKind errorKind;
    private @Nullable Phase errorPhase;
    private long totalNanos;
    private List<TimedAttempt> earlier = List.of();
    private @Nullable TimedAttempt last;

    /** The last attempt, while it is under way. */
    private @Nullable TimedAttempt current;

    private @Nullable Phase lostIn;
    private long lastNanos;
    private boolean ended;
    private boolean delivering;
    private @Nullable ArrayDeque<Runnable> waiting;

    /** @param target of the request, which completes the URL, or the empty string */
    TimedCall(Hooks hooks, String method, String origin, String target, @Nullable Object tag, long unixNanos, long at) {
        this.hooks = hooks;
        this.method = method;
        this.origin = origin;
        this.target = target;
        this.tag = tag;
        this.startedAtUnixNanos = unixNanos;
        this.startedAtMonoNanos = at;
        this.lastNanos = at;
        this.listeners = hooks.listeners(this);
        boolean some = false;
        boolean all = true;
        for (TimingListener each : listeners) {
            some |= each instanceof RecordListener;
            all &= each instanceof RecordListener;
        }
        this.records = some;
        this.events = !all;
        emit(TimingEvent.Type.CALL_START, null, 0);
    }

    /** Starts timing a call, or returns null when no hook is set. A hook that runs on this thread is not called again. */
    public static @Nullable TimedCall start(Hooks hooks, String method, String url, @Nullable Object tag) {
        return start(hooks, method, url, "", tag, System.nanoTime());
    }

    /** The same for a URL in two parts, which are joined when it is needed, and a call that began at some moment before. */
    public static @Nullable TimedCall start(
            Hooks hooks, String method, String origin, String target, @Nullable Object tag, long at) {
        if (!hooks.wanted()) {
            return null;
        }
        Hooks called = hooks.withoutRunning();
        if (!called.wanted()) {
            return null;
        }
        return new TimedCall(called, method, origin, target, tag, Anchor.unixNanos(at), at);
    }

    /** A number for a new connection, which no other connection of this process has. */
    public static long nextConnectionId() {
        return CONNECTIONS.incrementAndGet();
    }

    @Override
    public String method() {
        return method;
    }

    @Override
    public String url() {
        String shown = url;
        if (shown == null) {
            shown = Redaction.of(origin.concat(target));
            url = shown;
        }
        return shown;
    }

    @Override
    public Optional<Object> tag() {
        return Optional.ofNullable(tag);
    }

    @Override
    public OptionalInt status() {
        return status < 0 ? Timing.super.status() : OptionalInt.of(status);
    }

    @Override
    public Outcome outcome() {
        return outcome;
    }

    @Override
    public Optional<ErrorKind> errorKind() {
        return Optional.ofNullable(errorKind);
    }

    @Override
    public Optional<Phase> errorPhase() {
        return Optional.ofNullable(errorPhase);
    }

    @Override
    public long startedAtUnixNanos() {
        return startedAtUnixNanos;
    }

    @Override
    public long startedAtMonoNanos() {
        return startedAtMonoNanos;
    }

    @Override
    public long totalNanos() {
        return totalNanos;
    }

    @Override
    public List<Attempt> attempts() {
        List<Attempt> all = new ArrayList<>(earlier);
        lastAttempt().ifPresent(all::add);
        return List.copyOf(all);
    }

    @Override
    public Optional<Attempt> lastAttempt() {
        return Optional.ofNullable(last);
    }

    /** Whether a listener gets events. */
    public boolean wantsEvents() {
        return events;
    }

    /** When the attempt under way began, or 0. */
    public long attemptStartedAt() {
        return current == null ? 0 : current.startOf(Phase.TOTAL);
    }

    /** Begins an attempt, unless one is under way or the call has ended. */
    public void attempt(long at) {
        if (ended || current != null) {
            return;
        }
        TimedAttempt next = new TimedAttempt(last == null ? 0 : last.index + 1);
        add(next);
        current = next;
        lostIn = null;
        next.begin(Phase.TOTAL, noEarlier(at));
        emit(TimingEvent.Type.ATTEMPT_START, null, 0);
    }

    void add(TimedAttempt attempt) {
        if (last != null) {
            earlier = new ArrayList<>(earlier);
            earlier.add(last);
        }
        last = attempt;
    }

    /** Begins a phase, unless the attempt has had it. */
    public void begin(Phase phase, long at) {
        begin(phase, at, null);
    }

    /**
     * Begins a phase, unless the attempt has had it.
     *
     * @param text of DNS the host that is looked up, of CONNECT {@code host:port} that is connected to, where known
     */
    public void begin(Phase phase, long at, @Nullable String text) {
        TimedAttempt attempt = current;
        if (attempt != null && attempt.startOf(phase) == 0) {
            attempt.begin(phase, noEarlier(at));
            emit(STARTS[phase.ordinal()], text, 0);
        }
    }

    /** Ends a phase before the request, if it is open. A step that failed is not reported: its phase ends with the attempt. */
    public void end(Phase phase, long at) {
        end(phase, at, null);
    }

    private void end(Phase phase, long at, @Nullable String error) {
        if (finish(phase, at) != null) {
            emit(ENDS[phase.ordinal()], error, 0);
        }
    }

    /** The attempt waited since its start, where a client reports only the end of the wait. */
    public void queued(long until) {
        begin(Phase.QUEUE, attemptStartedAt());
        end(Phase.QUEUE, until);
    }

    /**
     * The attempt has a proxy.
     *
     * @param address {@code host:port} that its connection goes through, or null
     */
    public void proxy(@Nullable String address) {
        if (current != null) {
            current.proxy = address;
        }
    }

    /**
     * The attempt has its connection, at this moment.
     *
     * @param idle how long the connection was idle, -1 when it is new or that is not known
     * @param requests on it, this one included
     */
    public void connectionAcquired(long connId, long idle, int requests) {
        TimedAttempt attempt = current;
        if (attempt == null || attempt.connId >= 0) {
            return;
        }
        attempt.connId = connId;
        attempt.reused = requests > 1;
        attempt.idleNanos = idle;
        attempt.connRequests = requests;
        if (events) {
            noEarlier(System.nanoTime());
            emit(TimingEvent.Type.CONNECTION_ACQUIRED, null, 0);
        }
    }

    /** The head is being written, on this thread and in the scope of a tracer. */
    public void requestWrite() {
        if (current != null && records) {
            deliver(RecordListener::onRequestWrite);
        }
    }

    /**
     * The last write returned. Ignored once the response has begun: a server may answer early.
     *
     * @param bytes of the request, -1 where they are not known
     * @param writes in which they were handed over, -1 where that is not known
     */
    public void requestEnd(long at, long bytes, int writes) {
        TimedAttempt attempt = finish(Phase.SEND, at);
        if (attempt != null) {
            attempt.bytesSent = bytes;
            attempt.writes = writes;
            attempt.begin(Phase.WAIT, lastNanos);
            emit(TimingEvent.Type.REQUEST_END, null, 0);
        }
    }

    /** An interim response came. */
    public void informational(long at, int code) {
        if (current != null && events) {
            noEarlier(at);
            emit(TimingEvent.Type.INFORMATIONAL, null, code);
        }
    }

    /** The first byte of the final response was read. */
    public void responseStart(long at) {
        finish(Phase.WAIT, at);
        if (current != null && current.isOpen(Phase.SEND)) {
            current.drop(Phase.SEND);
        }
        begin(Phase.RECEIVE, at, null);
    }

    /** How long the response was waited for, or -1. */
    public long waited() {
        return current == null ? -1 : current.lengthOf(Phase.WAIT);
    }

    /** Kernel evidence, read at the start of the response. */
    public void kernel(Kernel evidence, @Nullable Cause cause) {
        if (current != null) {
            current.kernel = evidence;
            current.cause = cause;
        }
    }

    /** The head of the final response is complete. */
    public void headersEnd(int code) {
        TimedAttempt attempt = current;
        if (attempt != null) {
            attempt.status = code;
            if (events) {
                noEarlier(System.nanoTime());
                emit(TimingEvent.Type.HEADERS_END, null, code);
            }
            progress();
        }
    }

    /** Listeners get the fields of the attempt so far, before its tracer's span ends. */
    public void progress() {
        TimedAttempt attempt = current;
        if (attempt != null && records) {
            deliver(listener -> listener.onProgress(attempt));
        }
    }

    /** The last byte of the response was read. */
    public void responseEnd(long at, long bytes) {
        TimedAttempt attempt = finish(Phase.RECEIVE, at);
        if (attempt != null) {
            attempt.bytesReceived = bytes;
            emit(TimingEvent.Type.RESPONSE_END, null, 0);
        }
    }

    /** The attempt gave its connection back. The first report counts. */
    public void connectionReleased(long at, boolean reusable) {
        TimedAttempt attempt = current;
        if (attempt != null && attempt.connId >= 0 && !attempt.released && events) {
            attempt.released = true;
            noEarlier(at);
            emit(TimingEvent.Type.CONNECTION_RELEASED, null, reusable ? 1 : 0);
        }
    }

    /** Ends the attempt: answered when its status is known, else lost. The call goes on. */
    public void left(long at) {
        TimedAttempt attempt = current;
        if (attempt != null) {
            attemptEnd(at, attempt.status < 0 ? Outcome.ERROR : Outcome.OK, null);
        }
    }

    /**
     * Ends the attempt. A phase that is open ends with it, unless the attempt was answered: then the caller gave up the
     * rest of the body.
     */
    public void attemptEnd(long at, Outcome how, @Nullable Throwable error) {
        TimedAttempt attempt = current;
        if (attempt == null) {
            return;
        }
        lostIn = how == Outcome.OK ? null : attempt.openPhase();
        if (attempt.openPhase() != null) {
            phasesEnd(attempt, at, how, error);
        }
        finish(Phase.TOTAL, at);
        attempt.outcome = how;
        current = null;
        emit(TimingEvent.Type.ATTEMPT_END, null, 0);
    }

    private void phasesEnd(TimedAttempt attempt, long at, Outcome how, @Nullable Throwable error) {
        String why = how == Outcome.OK ? null : error == null ? how.canonicalName() : ErrorKinds.text(error);
        end(Phase.QUEUE, at);
        end(Phase.DNS, at, why);
        end(Phase.CONNECT, at, why);
        end(Phase.TLS, at, why);
        for (Phase phase = attempt.openPhase(); phase != null; phase = attempt.openPhase()) {
            if (how == Outcome.OK) {
                attempt.drop(phase);
            } else {
                finish(phase, at);
            }
        }
    }

    /** The caller gets this status, whatever the last attempt got: from a cache, or changed by the client. */
    public void answered(int code) {
        if (!ended) {
            status = code;
        }
    }

    /** The call is answered. */
    public void completed(long at) {
        end(at, Outcome.OK, null, null);
    }

    /** The call failed. */
    public void failed(long at, ErrorKind kind, Throwable error) {
        if (kind == ErrorKind.POOL) {
            begin(Phase.QUEUE, attemptStartedAt());
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
        ended = true;
        attemptEnd(at, how, error);
        seal(noEarlier(at), how, kind, how == Outcome.OK ? null : lostIn);
        emit(TimingEvent.Type.CALL_END, null, 0);
        if (records) {
            deliver(listener -> listener.onRecord(this));
        }
        deliver(() -> hooks.deliver(this));
    }

    void seal(long endedAt, Outcome how, @Nullable ErrorKind kind, @Nullable Phase failedIn) {
        outcome = how;
        errorKind = kind;
        errorPhase = failedIn;
        totalNanos = endedAt - startedAtMonoNanos;
    }

    /** An event at the time of the last step. */
    private void emit(TimingEvent.Type type, @Nullable String text, int code) {
        if (events) {
            TimingEvent event =
                    new TimingEvent(type, lastNanos, this, last, text == null ? null : withoutUserInfo(text), code);
            deliver(() -> hooks.deliver(listeners, event));
        }
    }

    private void deliver(Consumer<RecordListener> what) {
        deliver(() -> hooks.deliver(listeners, what));
    }

    /** Calls hooks. A step that a hook takes calls its hooks after that hook has returned. */
    private void deliver(Runnable delivery) {
        if (delivering) {
            waiting = waiting == null ? new ArrayDeque<>() : waiting;
            waiting.add(delivery);
            return;
        }
        delivering = true;
        delivery.run();
        while (waiting != null && !waiting.isEmpty()) {
            waiting.remove().run();
        }
        delivering = false;
    }

    /** The time, but not earlier than that of the previous step. */
    private long noEarlier(long at) {
        lastNanos = Math.max(at, lastNanos);
        return lastNanos;
    }

    /** Ends a phase if it is open; else the result is null. */
    private @Nullable TimedAttempt finish(Phase phase, long at) {
        TimedAttempt attempt = current;
        long end = attempt == null ? 0 : attempt.end(phase, Math.max(at, lastNanos));
        if (end == 0) {
            return null;
        }
        lastNanos = end;
        return attempt;
    }

    /** Reactor Netty takes user information in a URL for a part of the host name, and shows it in its errors. */
    private String withoutUserInfo(String text) {
        String userInfo = Redaction.userInfo(origin.concat(target));
        return userInfo == null ? text : text.replace(userInfo, "");
    }

    @Override
    public Map<String, Object> toMap() {
        Map<String, Object> map = new LinkedHashMap<>();
        map.put("method", method);
        map.put("url", url());
        map.put("outcome", outcome.canonicalName());
        errorKind().ifPresent(kind -> map.put("error_kind", kind.canonicalName()));
        errorPhase().ifPresent(phase -> map.put("error_phase", phase.canonicalName()));
        map.put("started_at_unix_ns", startedAtUnixNanos);
        map.put("started_at_mono_ns", startedAtMonoNanos);
        List<Map<String, Object>> all = attempts().stream().map(Attempt::toMap).toList();
        if (!all.isEmpty()) {
            map.putAll(all.get(all.size() - 1));
            map.remove("index");
            map.put("outcome", outcome.canonicalName());
        }
        status().ifPresent(code -> map.put("status", code));
        map.put("total_ns", totalNanos);
        map.put("attempts", all);
        return map;
    }

    @Override
    public String toString() {
        StringBuilder line = new StringBuilder(method).append(' ').append(url()).append(' ');
        status().ifPresent(code -> line.append(code).append(' '));
        appendOutcome(line);
        line.append("in ").append(millis(totalNanos)).append(" ms");
        proxy().ifPresent(through -> line.append(" via proxy ").append(through));
        String separator = ": ";
        for (Phase phase : PHASES) {
            long nanos = nanos(phase).orElse(-1);
            if (phase != Phase.TOTAL && nanos >= 0) {
                line.append(separator).append(phase.canonicalName()).append(' ').append(millis(nanos));
                separator = ", ";
                if (phase == Phase.WAIT) {
                    appendCause(line);
                }
            }
        }
        connId().ifPresent(id -> line.append(reused().orElse(false) ? "; reused conn " : "; new conn ")
                .append(id));
        if (!earlier.isEmpty()) {
            line.append("; attempt ").append(earlier.size() + 1);
        }
        return line.toString();
    }

    private void appendOutcome(StringBuilder line) {
        if (outcome == Outcome.OK) {
            return;
        }
        List<String> why = new ArrayList<>();
        if (errorKind != null && outcome == Outcome.ERROR) {
            why.add(errorKind.canonicalName());
        }
        if (errorPhase != null) {
            why.add("in " + errorPhase.canonicalName());
        }
        line.append(outcome.canonicalName()).append(' ');
        if (!why.isEmpty()) {
            line.append('(').append(String.join(" ", why)).append(") ");
        }
    }

    private void appendCause(StringBuilder line) {
        cause().ifPresent(cause -> {
            line.append(" (");
            if (cause != Cause.SERVER) {
                kernel().ifPresent(kernel -> line.append("held ")
                        .append(millis(kernel.sendHoldNanos().orElse(0)))
                        .append(": "));
            }
            line.append(cause.canonicalName()).append(')');
        });
    }

    /** With one decimal, and never with an exponent. */
    private static String millis(long nanos) {
        long tenths = Math.round(nanos / 1e5);
        return tenths / 10 + "." + tenths % 10;
    }
}
