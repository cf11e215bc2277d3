package io.github.onewrite.spi;

import io.github.onewrite.ErrorKind;
import io.github.onewrite.OnewriteException;
import io.github.onewrite.Outcome;
import io.github.onewrite.Phase;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * One call of another library's client, timed by that client's callbacks. They come from the caller's thread, from event
 * loops and, on cancellation, from any thread: hence {@link CallTimer#step}.
 *
 * <p>Attempts are numbered. Each step of a connection names its attempt, so that late steps of an earlier attempt cannot
 * change the current one.
 */
public final class TimedCall {
    private final CallTimer timer;

    // Guarded by the timer's lock.
    private int attempt = -1;
    private boolean attempting;
    private @Nullable Phase lostIn;

    private TimedCall(CallTimer timer) {
        this.timer = timer;
    }

    /** Starts timing a call and its first attempt, or returns null when nothing listens. */
    public static @Nullable TimedCall start(Hooks hooks, String method, String url, @Nullable Object tag) {
        CallTimer timer = CallTimer.start(hooks, method, url, tag);
        if (timer == null) {
            return null;
        }
        TimedCall call = new TimedCall(timer);
        call.attempt();
        return call;
    }

    /** Starts an attempt unless one is under way. Returns the number of the one under way. */
    public int attempt() {
        int current;
        boolean hooksWait = false;
        synchronized (timer) {
            if (!attempting) {
                attempting = true;
                attempt++;
                lostIn = null;
                hooksWait = timer.take(CallTimer::attemptStart);
            }
            current = attempt;
        }
        if (hooksWait) {
            timer.deliver();
        }
        return current;
    }

    /** A step of the attempt under way; ignored when there is none. */
    public void step(Consumer<CallTimer> step) {
        boolean hooksWait;
        synchronized (timer) {
            hooksWait = attempting && timer.take(step);
        }
        if (hooksWait) {
            timer.deliver();
        }
    }

    /** A step of one attempt; ignored when that one is over. */
    public void step(int of, Consumer<CallTimer> step) {
        boolean hooksWait;
        synchronized (timer) {
            hooksWait = attempting && of == attempt && timer.take(step);
        }
        if (hooksWait) {
            timer.deliver();
        }
    }

    /** The attempt is over and the call goes on: redirected or challenged when it was answered, else lost. */
    public void left() {
        step(with -> endAttempt(with.answered() ? Outcome.OK : Outcome.ERROR, null));
    }

    /** One attempt is answered, and the call goes on. */
    public void answered(int of) {
        step(of, with -> endAttempt(Outcome.OK, null));
    }

    /** One attempt is lost. The client may try again, or fail the call. */
    public void lost(int of, Throwable error) {
        step(of, with -> endAttempt(Outcome.ERROR, error));
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
    public void completed(long at) {
        timer.step(with -> {
            attempting = false;
            with.callEnd(at, Outcome.OK, null, null);
        });
    }

    /** The call failed. Ignored once it has ended. */
    public void failed(Throwable error) {
        ErrorKind kind = ErrorKinds.of(error);
        timer.step(with -> {
            if (kind == ErrorKind.POOL && attempting) {
                with.queuedSinceStart();
            }
            end(kind == ErrorKind.CANCELLED ? Outcome.CANCELLED : Outcome.ERROR, kind, error);
        });
    }

    /** The caller gave up. Ignored once the call has ended. */
    public void cancelled() {
        timer.step(with -> end(Outcome.CANCELLED, ErrorKind.CANCELLED, null));
    }

    /**
     * The connection of one attempt is closed, and the client reports no outcome: the call ends here. Ignored when that
     * attempt is over.
     *
     * @param error the connection's error, or null when the caller cancelled
     */
    public void abandoned(int of, @Nullable Throwable error) {
        step(of, with -> {
            if (error == null) {
                cancelled();
            } else {
                failed(error);
            }
        });
    }

    private void end(Outcome outcome, ErrorKind kind, @Nullable Throwable error) {
        Phase known = error instanceof OnewriteException own ? own.phase().orElse(null) : null;
        Phase failedIn = known != null ? known : attempting ? timer.phase() : lostIn;
        attempting = false;
        timer.attemptEnd(outcome, error);
        timer.callEnd(outcome, kind, failedIn);
    }
}
