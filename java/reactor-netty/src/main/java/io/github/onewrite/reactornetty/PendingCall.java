package io.github.onewrite.reactornetty;

import io.github.onewrite.internal.TimedCall;
import io.github.onewrite.netty.NettyConnection;
import io.github.onewrite.netty.OnewriteNetty;
import io.netty.channel.EventLoop;
import io.netty.handler.codec.http.HttpMethod;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * A call in Reactor's context, which carries it to its connection. A retry may get its next connection before the previous
 * one reports its end: so the first step of an attempt ends the previous attempt. Without a lock, because hooks are called.
 */
final class PendingCall {
    /** Its key in the context. */
    static final Class<PendingCall> KEY = PendingCall.class;

    private final OnewriteNetty onewrite;
    private final @Nullable Object tag;
    private volatile OnewriteNetty.@Nullable Call call;
    private volatile boolean connected;
    private final AtomicBoolean served = new AtomicBoolean();

    PendingCall(OnewriteNetty onewrite, @Nullable Object tag) {
        this.onewrite = onewrite;
        this.tag = tag;
    }

    boolean isStarted() {
        return call != null;
    }

    void start(HttpMethod method, @Nullable String url) {
        if (call == null) {
            call = onewrite.begin(method.name(), url == null ? "/" : url, tag);
        }
    }

    private void step(OnewriteNetty.Step step) {
        OnewriteNetty.Call started = call;
        if (started != null) {
            started.step(step);
        }
    }

    /**
     * Its name is resolved. A resolver reports that on its own thread, and possibly late: a hook that is called there must
     * not hold the steps of the connection's loop.
     */
    void resolved(EventLoop loop) {
        post(loop, TimedCall::dnsEnd);
    }

    /** Takes a step, which happens now, in a later task of the connection's loop. */
    private void post(EventLoop loop, OnewriteNetty.Step step) {
        OnewriteNetty.Call started = call;
        if (started == null) {
            return;
        }
        long at = System.nanoTime();
        try {
            loop.execute(() -> started.step(at, step));
        } catch (RejectedExecutionException e) {
            // The loop is being shut down, and the connection with it.
            started.step(at, step);
        }
    }

    /** The call, for which a connection is about to be opened. */
    OnewriteNetty.@Nullable Call connecting() {
        if (served.getAndSet(false)) {
            step(TimedCall::left);
        }
        return call;
    }

    /** The connection serves the call from now on. */
    void serveBy(NettyConnection connection) {
        connection.serve(connecting());
        served.set(true);
    }

    /** The caller has the response's head: from now on the connection reports the call's end. */
    void connected() {
        connected = true;
    }

    /**
     * The call is answered. Its hooks run in a later task of the connection's loop: Reactor Netty reports the end before it
     * gives the connection back, and a slow hook would delay that.
     */
    void completed(EventLoop loop) {
        post(loop, TimedCall::completed);
    }

    void failed(Throwable error) {
        OnewriteNetty.Call current = call;
        if (current != null) {
            current.failed(error, ReactorErrors::kindOf);
        }
    }

    void cancelled() {
        if (!connected) {
            step(TimedCall::cancelled);
        }
    }
}
