package io.github.onewrite.client.internal;

import io.github.onewrite.ErrorKind;
import io.github.onewrite.OnewriteException;
import io.github.onewrite.Outcome;
import io.github.onewrite.Phase;
import io.github.onewrite.spi.CallTimer;
import java.time.Duration;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** One call, from send to its end: at most two attempts, one time limit, one outcome. Confined to the pool's loop. */
public final class Call implements Runnable {
    private OriginPool pool;
    private final PreparedRequest request;
    private final @Nullable CallTimer timer;
    private final ResponseSink sink;
    private boolean over;
    private boolean resent;
    private @Nullable Connecting connecting;
    private @Nullable Exchange exchange;
    private @Nullable Future<?> callLimit;
    private @Nullable Future<?> queueLimit;

    public Call(OriginPool pool, PreparedRequest request, @Nullable CallTimer timer, ResponseSink sink) {
        this.pool = pool;
        this.request = request;
        this.timer = timer;
        this.sink = sink;
    }

    ClientSettings settings() {
        return pool.settings();
    }

    PreparedRequest request() {
        return request;
    }

    ResponseSink sink() {
        return sink;
    }

    @Nullable
    CallTimer timer() {
        return timer;
    }

    /** Starts the call, on the loop. */
    @Override
    public void run() {
        if (over) {
            pool.removeIfEmpty();
            return;
        }
        Duration own = request.timeout();
        long limit = own == null ? settings().callTimeout() : Durations.nanos(own);
        if (limit > 0) {
            callLimit = settings().time().after(limit, pool.loop(), () -> overdue(limit));
        }
        attempt();
    }

    private void attempt() {
        if (timer != null) {
            timer.attemptStart();
        }
        pool = pool.current();
        pool.acquire(this);
    }

    /** No connection is free; the call waits, for so long. */
    void queued(long limit) {
        if (timer != null) {
            timer.queueStart();
        }
        if (limit > 0) {
            queueLimit = settings().time().after(limit, pool.loop(), () -> queueOverdue(limit));
        }
    }

    void queueLeft() {
        if (queueLimit != null) {
            queueLimit.cancel(false);
            queueLimit = null;
        }
        if (timer != null) {
            timer.queueEnd();
        }
    }

    void waitsFor(Connecting connection) {
        connecting = connection;
    }

    void acquired(Connection connection, long idleNanos) {
        connecting = null;
        boolean reused = connection.requests() > 0;
        if (timer != null) {
            timer.connectionAcquired(connection, reused, reused ? idleNanos : -1, connection.requests() + 1);
        }
        exchange = new Exchange(this, connection);
        exchange.start();
    }

    /** The call gets no connection. */
    void failed(OnewriteException why) {
        end(Outcome.ERROR, why);
    }

    /**
     * The exchange failed and gave its connection back; handed says whether a byte may have been handed to the socket.
     * Sends again, once, only when the request cannot have been
     * processed, or when processing it twice does no harm (RFC 9110, 9.2.2; RFC 9112, 9.3.1).
     */
    void exchangeFailed(OnewriteException why, boolean handed, boolean reused, boolean responseBegun) {
        exchange = null;
        boolean lostConnection = why.kind() == ErrorKind.CLOSED || why.kind() == ErrorKind.RESET;
        boolean unseen = !handed && request.body().replayable();
        boolean harmless = reused && request.repeatable() && !responseBegun;
        if (!over && !resent && lostConnection && (unseen || harmless)) {
            resent = true;
            if (timer != null) {
                timer.attemptEnd(Outcome.ERROR, why);
            }
            attempt();
            return;
        }
        end(Outcome.ERROR, why);
    }

    /** The response is read to its end, and the connection given back. */
    void completed() {
        exchange = null;
        try {
            end(Outcome.OK, null);
        } finally {
            sink.end();
        }
    }

    /** The caller has the response's headers and wants no more of it. */
    void abandoned() {
        if (!over && exchange != null) {
            exchange.giveUp();
            exchange = null;
            end(Outcome.OK, null);
        }
    }

    /** Cancels the call; from any thread. */
    public void cancel() {
        OnLoop.ifItRuns(
                pool.loop(),
                () -> giveUp(
                        Outcome.CANCELLED,
                        new OnewriteException(ErrorKind.CANCELLED, "the caller cancelled the call")));
    }

    private void overdue(long limit) {
        giveUp(
                Outcome.ERROR,
                new OnewriteException(
                        ErrorKind.TIMEOUT,
                        "the call to " + pool.origin() + " was not over in " + TimeUnit.NANOSECONDS.toMillis(limit)
                                + " ms (call timeout)"));
    }

    private void queueOverdue(long limit) {
        queueLimit = null;
        giveUp(
                Outcome.ERROR,
                new OnewriteException(
                        ErrorKind.POOL,
                        "no connection to " + pool.origin() + " was free in "
                                + TimeUnit.NANOSECONDS.toMillis(limit)
                                + " ms (queueTimeout); raise maxConnectionsPerOrigin or the timeout"));
    }

    private void giveUp(Outcome outcome, OnewriteException why) {
        if (over) {
            return;
        }
        if (exchange != null) {
            why.in(exchange.phase());
            exchange.giveUp();
            exchange = null;
        } else {
            why.in(connecting != null ? connecting.stage() : Phase.QUEUE);
            pool.leave(this);
        }
        end(outcome, why);
    }

    private void end(Outcome outcome, @Nullable OnewriteException why) {
        if (over) {
            return;
        }
        over = true;
        connecting = null;
        if (callLimit != null) {
            callLimit.cancel(false);
        }
        if (queueLimit != null) {
            queueLimit.cancel(false);
        }
        try {
            if (timer != null) {
                timer.attemptEnd(outcome, why);
                timer.callEnd(
                        outcome,
                        why == null ? null : why.kind(),
                        why == null ? null : why.phase().orElse(null));
            }
        } finally {
            if (why != null) {
                sink.failed(why);
            }
        }
    }
}
