package io.github.onewrite;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;

/**
 * The timing of one call. Times are nanoseconds of {@link System#nanoTime}; on Linux that clock is
 * {@code CLOCK_MONOTONIC}, the same in every process of the machine.
 *
 * <p>The record does not change after the call has ended. An event that comes before has the record as it is so far.
 *
 * <p>The phases, the status, the connection, the proxy, the kernel evidence and the cause are those of the last attempt;
 * {@link #attempts} has them all. Phases are never summed over attempts.
 */
public interface Timing extends Phases {
    String method();

    /**
     * The URL as the caller gave it, without user information, and with {@code REDACTED} for the value of each query key
     * that has a secret word, such as {@code X-Amz-Signature} or {@code access_token}: {@link Redaction}. Other values are
     * shown: mind what is logged.
     */
    String url();

    /** The caller's own object, given with the request. */
    Optional<Object> tag();

    Outcome outcome();

    Optional<ErrorKind> errorKind();

    /** The phase in which the error came; empty when no phase was under way. */
    Optional<Phase> errorPhase();

    /** Wall clock at the start of the call, in nanoseconds since 1970: the one anchor to the calendar. */
    long startedAtUnixNanos();

    long startedAtMonoNanos();

    /** From the start to the end of the call. */
    long totalNanos();

    /** In order. A request that was refused before its first byte has one, which failed. */
    List<Attempt> attempts();

    /** The last attempt, which is the one that answered or failed. */
    default Optional<Attempt> lastAttempt() {
        List<Attempt> all = attempts();
        return all.isEmpty() ? Optional.empty() : Optional.of(all.get(all.size() - 1));
    }

    /** Status of the response that the caller gets. */
    default OptionalInt status() {
        return lastAttempt().map(Attempt::status).orElse(OptionalInt.empty());
    }

    default OptionalLong connId() {
        return lastAttempt().map(Attempt::connId).orElse(OptionalLong.empty());
    }

    default Optional<Boolean> reused() {
        return lastAttempt().flatMap(Attempt::reused);
    }

    default Optional<String> proxy() {
        return lastAttempt().flatMap(Attempt::proxy);
    }

    /** The length of a phase of the last attempt, in nanoseconds. */
    @Override
    default OptionalLong nanos(Phase phase) {
        return lastAttempt().map(last -> last.nanos(phase)).orElse(OptionalLong.empty());
    }

    default Optional<Kernel> kernel() {
        return lastAttempt().flatMap(Attempt::kernel);
    }

    default Optional<Cause> cause() {
        return lastAttempt().flatMap(Attempt::cause);
    }

    /**
     * The record under the names common to all languages (timing-v1): strings, boxed numbers, flags, lists and maps, ready
     * for JSON. An absent value has no key. The fields of the last attempt are also at the top level.
     */
    Map<String, Object> toMap();

    /** One line for a log: {@code POST http://… 200 in 41.9 ms: send 0.1, wait 41.7, receive 0.1; reused conn 3}. */
    @Override
    String toString();
}
