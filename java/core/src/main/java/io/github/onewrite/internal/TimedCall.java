package io.github.onewrite.internal;

import io.github.onewrite.ErrorKind;
import io.github.onewrite.Outcome;
import io.github.onewrite.Phase;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * One call of another library's client, timed by that client's callbacks. They come from the caller's thread, from event
 * loops and, on cancellation, from any thread: hence the lock, which is otherwise uncontended.
 *
 * <p>Attempts are numbered. Each step of a connection names its attempt, so that late steps of an earlier attempt cannot
 * change the current one.
 */
public final class TimedCall {
    private final CallTimer timer;
    private int attempt = -1;
    private boolean attempting;
    private @Nullable Phase lostIn;

    private TimedCall(CallTimer timer) {
        this.timer = timer;
    }

    /** Starts timing a call and its first attempt, or answers null when nothing listens. */
    public static @Nullable TimedCall start(Hooks hooks, String method, String url, @Nullable Object tag) {
        CallTimer timer = CallTimer.start(hooks, method, url, tag);
        if (timer == null) {
            return null;
        }
        TimedCall call = new TimedCall(timer);
        call.attempt();
        return call;
    }

    /** Starts an attempt unless one is under way. Answers the number of the one under way. */
    public synchronized int attempt() {
        if (!attempting) {
            attempting = true;
            attempt++;
            lostIn = null;
            timer.attemptStart();
        }
        return attempt;
    }

    /** A step of the attempt under way; ignored when there is none. */
    public synchronized void step(Consumer<CallTimer> step) {
        if (attempting) {
            step.accept(timer);
        }
    }

    /** A step of one attempt; ignored when that one is over. */
    public synchronized void step(int of, Consumer<CallTimer> step) {
        if (attempting && of == attempt) {
            step.accept(timer);
        }
    }

    /** The attempt is over and the call goes on: redirected or challenged when it was answered, else lost. */
    public synchronized void left() {
        if (attempting) {
            endAttempt(timer.answered() ? Outcome.OK : Outcome.ERROR, null);
        }
    }

    /** One attempt is answered, and the call goes on. */
    public synchronized void answered(int of) {
        if (attempting && of == attempt) {
            endAttempt(Outcome.OK, null);
        }
    }

    /** One attempt is lost. The client may try again, or fail the call. */
    public synchronized void lost(int of, Throwable error) {
        if (attempting && of == attempt) {
            endAttempt(Outcome.ERROR, error);
        }
    }

    private void endAttempt(Outcome outcome, @Nullable Throwable error) {
        attempting = false;
        lostIn = timer.phase();
        timer.attemptEnd(outcome, error);
    }

    /** The call is answered. */
    public void completed() {
        completed(System.nanoTime());
    }

    /**
     * The call was answered at this time. The caller may report it later, so that a slow hook delays nothing.
     *
     * @param at when, by {@link System#nanoTime}
     */
    public synchronized void completed(long at) {
        attempting = false;
        timer.callEnd(at, Outcome.OK, null, null);
    }

    /** The call failed. Ignored once it has ended. */
    public synchronized void failed(Throwable error) {
        ErrorKind kind = ErrorKinds.of(error);
        if (kind == ErrorKind.POOL && attempting) {
            timer.queuedSinceStart();
        }
        end(kind == ErrorKind.CANCELLED ? Outcome.CANCELLED : Outcome.ERROR, kind, error);
    }

    /** The caller gave up. Ignored once the call has ended. */
    public synchronized void cancelled() {
        end(Outcome.CANCELLED, ErrorKind.CANCELLED, null);
    }

    /**
     * The connection of one attempt is closed, and the client reports no outcome: the call ends here. Ignored when that
     * attempt is over.
     *
     * @param error the connection's error, or null when the caller cancelled
     */
    public synchronized void abandoned(int of, @Nullable Throwable error) {
        if (attempting && of == attempt) {
            if (error == null) {
                cancelled();
            } else {
                failed(error);
            }
        }
    }

    private void end(Outcome outcome, ErrorKind kind, @Nullable Throwable error) {
        Phase failedIn = attempting ? timer.phase() : lostIn;
        attempting = false;
        timer.attemptEnd(outcome, error);
        timer.callEnd(outcome, kind, failedIn);
    }
}
