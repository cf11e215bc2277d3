package io.github.onewrite;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/**
 * The finished timing of one call. Times are nanoseconds of {@link System#nanoTime}; on Linux that clock is
 * {@code CLOCK_MONOTONIC}, the same in every process of the machine.
 *
 * <p>A record does not change once a hook has it.
 *
 * <p>The phases, the status, the connection, the kernel evidence and the cause are those of the last attempt;
 * {@link #attempts} has them all. Phases are never summed over attempts.
 */
public sealed class Timing extends Phases permits TimedCall {
    private final String method;
    private final String origin;
    private final String target;

    /** Made when it is needed first. */
    private @Nullable String url;

    private final @Nullable Object tag;
    private final long startedAtUnixNanos;
    private final long startedAtMonoNanos;
    private Outcome outcome = Outcome.OK;
    private @Nullable ErrorKind errorKind;
    private @Nullable Phase errorPhase;
    private long totalNanos;
    private List<Attempt> attempts = List.of();

    /** @param target of the request, which completes the URL, or the empty string */
    Timing(
            String method,
            String origin,
            String target,
            @Nullable Object tag,
            long startedAtUnixNanos,
            long startedAtMonoNanos) {
        this.method = method;
        this.origin = origin;
        this.target = target;
        this.tag = tag;
        this.startedAtUnixNanos = startedAtUnixNanos;
        this.startedAtMonoNanos = startedAtMonoNanos;
    }

    final void add(Attempt attempt) {
        if (attempts.isEmpty()) {
            attempts = List.of(attempt);
        } else {
            List<Attempt> all = new ArrayList<>(attempts);
            all.add(attempt);
            attempts = List.copyOf(all);
        }
    }

    final void seal(long endedAt, Outcome how, @Nullable ErrorKind kind, @Nullable Phase failedIn) {
        outcome = how;
        errorKind = kind;
        errorPhase = failedIn;
        totalNanos = endedAt - startedAtMonoNanos;
    }

    public String method() {
        return method;
    }

    /**
     * The URL as the caller gave it, query included, but without user information, and with {@code REDACTED} for the
     * values of the query keys {@code AWSAccessKeyId}, {@code Signature}, {@code sig} and {@code X-Goog-Signature}.
     * Other values are shown: mind what is logged.
     */
    public final String url() {
        String shown = url;
        if (shown == null) {
            shown = Redaction.of(origin.concat(target));
            url = shown;
        }
        return shown;
    }

    /** Reactor Netty takes user information in a URL for a part of the host name, and shows it in its errors. */
    final String withoutUserInfo(String text) {
        String userInfo = Redaction.userInfo(origin.concat(target));
        return userInfo == null ? text : text.replace(userInfo, "");
    }

    /** The caller's own object, given with the request. */
    public Optional<Object> tag() {
        return Optional.ofNullable(tag);
    }

    public Outcome outcome() {
        return outcome;
    }

    public Optional<ErrorKind> errorKind() {
        return Optional.ofNullable(errorKind);
    }

    /** The phase in which the error came; empty when no phase was under way. */
    public Optional<Phase> errorPhase() {
        return Optional.ofNullable(errorPhase);
    }

    /** Wall clock at the start of the call, in nanoseconds since 1970: the one anchor to the calendar. */
    public long startedAtUnixNanos() {
        return startedAtUnixNanos;
    }

    public long startedAtMonoNanos() {
        return startedAtMonoNanos;
    }

    /** From the start to the end of the call. */
    public long totalNanos() {
        return totalNanos;
    }

    /** In order. A request that was refused before its first byte has one, which failed. */
    public List<Attempt> attempts() {
        return attempts;
    }

    /** The last attempt, which is the one that answered or failed. */
    public Optional<Attempt> lastAttempt() {
        return attempts.isEmpty() ? Optional.empty() : Optional.of(attempts.get(attempts.size() - 1));
    }

    /** Status of the final response. */
    public OptionalInt status() {
        return attempts.isEmpty() ? OptionalInt.empty() : last().status();
    }

    public OptionalLong connId() {
        return attempts.isEmpty() ? OptionalLong.empty() : last().connId();
    }

    public Optional<Boolean> reused() {
        return lastAttempt().flatMap(Attempt::reused);
    }

    /** The length of a phase of the last attempt, in nanoseconds. */
    @Override
    public OptionalLong nanos(Phase phase) {
        return attempts.isEmpty() ? OptionalLong.empty() : last().nanos(phase);
    }

    public Optional<Kernel> kernel() {
        return lastAttempt().flatMap(Attempt::kernel);
    }

    public Optional<Cause> cause() {
        return lastAttempt().flatMap(Attempt::cause);
    }

    /**
     * The record under the names common to all languages (timing-v1): strings, boxed numbers, flags, lists and maps, ready
     * for JSON. An absent value has no key. The fields of the last attempt are also at the top level.
     */
    public Map<String, Object> toMap() {
        Map<String, Object> map = new LinkedHashMap<>();
        map.put("method", method);
        map.put("url", url());
        map.put("outcome", outcome.canonicalName());
        errorKind().ifPresent(kind -> map.put("error_kind", kind.canonicalName()));
        errorPhase().ifPresent(phase -> map.put("error_phase", phase.canonicalName()));
        map.put("started_at_unix_ns", startedAtUnixNanos);
        map.put("started_at_mono_ns", startedAtMonoNanos);
        List<Map<String, Object>> all = attempts.stream().map(Attempt::toMap).toList();
        if (!all.isEmpty()) {
            map.putAll(all.get(all.size() - 1));
            map.remove("index");
            map.put("outcome", outcome.canonicalName());
        }
        map.put("total_ns", totalNanos);
        map.put("attempts", all);
        return map;
    }

    /** One line for a log: {@code POST http://… 200 in 41.9 ms: send 0.1, wait 41.7, receive 0.1; reused conn 3}. */
    @Override
    public String toString() {
        StringBuilder line = new StringBuilder(method).append(' ').append(url()).append(' ');
        status().ifPresent(code -> line.append(code).append(' '));
        appendOutcome(line);
        line.append("in ").append(millis(totalNanos)).append(" ms");
        String separator = ": ";
        for (Phase phase : Phase.values()) {
            OptionalLong nanos = nanos(phase);
            if (phase != Phase.TOTAL && nanos.isPresent()) {
                line.append(separator).append(phase.canonicalName()).append(' ').append(millis(nanos.getAsLong()));
                separator = ", ";
                if (phase == Phase.WAIT) {
                    appendCause(line);
                }
            }
        }
        connId().ifPresent(id -> line.append(reused().orElse(false) ? "; reused conn " : "; new conn ")
                .append(id));
        if (attempts.size() > 1) {
            line.append("; attempt ").append(attempts.size());
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

    private Attempt last() {
        return attempts.get(attempts.size() - 1);
    }

    /** With one decimal, and never with an exponent. */
    private static String millis(long nanos) {
        long tenths = Math.round(nanos / 1e5);
        return tenths / 10 + "." + tenths % 10;
    }
}
