package io.github.onewrite.client.internal;

import io.github.onewrite.ErrorKind;
import io.github.onewrite.OnewriteException;
import io.github.onewrite.Phase;
import io.github.onewrite.netty.OnewriteNetty;
import java.time.Duration;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** One call, from send to its end: at most two attempts, one time limit, one outcome. Confined to the pool's loop. */
public final class Call implements Runnable {
    private OriginPool pool;
    private final PreparedRequest request;
    private final OnewriteNetty.Call timing;
    private final ResponseSink sink;
    private boolean over;
    private boolean resent;
    private @Nullable Connecting connecting;
    private @Nullable Exchange exchange;
    private @Nullable Future<?> callLimit;
    private @Nullable Future<?> queueLimit;

    public Call(OriginPool pool, PreparedRequest request, OnewriteNetty.Call timing, ResponseSink sink) {
        this.pool = pool;
        this.request = request;
        this.timing = timing;
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

    OnewriteNetty.Call timing() {
        return timing;
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
        timing.attempt();
        pool = pool.current();
        pool.acquire(this);
    }

    /** No connection is free; the call waits, for so long. */
    void queued(long limit) {
        timing.queueStart();
        if (limit > 0) {
            queueLimit = settings().time().after(limit, pool.loop(), () -> queueOverdue(limit));
        }
    }

    void queueLeft() {
        if (queueLimit != null) {
            queueLimit.cancel(false);
            queueLimit = null;
        }
        timing.queueEnd();
    }

    void waitsFor(Connecting connection) {
        connecting = connection;
    }

    void acquired(Connection connection) {
        connecting = null;
        exchange = new Exchange(this, connection);
        exchange.start();
    }

    /** The call gets no connection. */
    void failed(OnewriteException why) {
        end(why);
    }

    /**
     * The exchange failed and gave its connection back. Sends again, once, only when processing the request twice does
     * no harm (RFC 9110, 9.2.2; RFC 9112, 9.3.1).
     */
    void exchangeFailed(OnewriteException why, boolean reused, boolean responseBegun) {
        exchange = null;
        boolean lostConnection = why.kind() == ErrorKind.CLOSED || why.kind() == ErrorKind.RESET;
        if (!over && !resent && lostConnection && reused && request.repeatable() && !responseBegun) {
            resent = true;
            timing.left();
            attempt();
            return;
        }
        end(why);
    }

    /** The response is read to its end, and the connection given back. */
    void completed() {
        exchange = null;
        end(null);
    }

    /** The caller has the response's headers and wants no more of it. */
    void abandoned() {
        if (!over && exchange != null) {
            exchange.giveUp();
            exchange = null;
            end(null);
        }
    }

    /** Cancels the call; from any thread. */
    public void cancel() {
        OnLoop.ifItRuns(
                pool.loop(), () -> giveUp(new OnewriteException(ErrorKind.CANCELLED, "the caller cancelled the call")));
    }

    private void overdue(long limit) {
        giveUp(new OnewriteException(
                ErrorKind.TIMEOUT,
                "the call to " + pool.origin() + " was not over in " + TimeUnit.NANOSECONDS.toMillis(limit)
                        + " ms (call timeout)"));
    }

    private void queueOverdue(long limit) {
        queueLimit = null;
        giveUp(new OnewriteException(
                ErrorKind.POOL,
                "no connection to " + pool.origin() + " was free in " + TimeUnit.NANOSECONDS.toMillis(limit)
                        + " ms (queueTimeout); raise maxConnectionsPerOrigin or the timeout"));
    }

    private void giveUp(OnewriteException why) {
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
        end(why);
    }

    /** @param why null for a call that is answered */
    private void end(@Nullable OnewriteException why) {
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
            if (why == null) {
                timing.completed();
            } else {
                timing.failed(why);
            }
        } finally {
            if (why == null) {
                sink.end();
            } else {
                sink.failed(why);
            }
        }
    }
}
