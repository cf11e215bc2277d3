package io.github.onewrite.reactornetty;

import io.github.onewrite.netty.internal.Exchange;
import io.github.onewrite.netty.internal.NettyConnection;
import io.github.onewrite.netty.internal.NettySetup;
import io.netty.channel.EventLoop;
import io.netty.handler.codec.http.HttpMethod;
import java.util.concurrent.RejectedExecutionException;
import org.jspecify.annotations.Nullable;

/**
 * A call in Reactor's context, which carries it to its connection. A retry may get its next connection before the previous
 * one reports its end: so the first step of an attempt ends the previous attempt.
 */
final class PendingCall {
    /** That of the customizer, under which the context has this. */
    final Object key;

    private final NettySetup netty;
    private final @Nullable Object tag;
    private volatile @Nullable Exchange exchange;
    private volatile boolean connected;
    private volatile boolean served;

    PendingCall(Object key, NettySetup netty, @Nullable Object tag) {
        this.key = key;
        this.netty = netty;
        this.tag = tag;
    }

    boolean isStarted() {
        return exchange != null;
    }

    void start(HttpMethod method, @Nullable String url) {
        if (exchange == null) {
            exchange = netty.begin(method.name(), url == null ? "/" : url, tag);
        }
    }

    /** The call, for which a connection is about to be opened. */
    @Nullable
    Exchange connecting() {
        Exchange call = exchange;
        if (call != null && served) {
            served = false;
            call = call.next();
            exchange = call;
        }
        return call;
    }

    /** The connection serves the call from now on. */
    void serveBy(NettyConnection connection) {
        Exchange call = connecting();
        connection.serve(call == null ? Exchange.UNTIMED : call);
        served = true;
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
        Exchange call = exchange;
        if (call == null) {
            return;
        }
        long at = System.nanoTime();
        try {
            loop.execute(() -> call.completed(at));
        } catch (RejectedExecutionException e) {
            // The loop is being shut down, and the connection with it.
            call.completed(at);
        }
    }

    void failed(Throwable error) {
        Exchange call = exchange;
        if (call != null) {
            call.failed(error, ReactorErrors::kindOf);
        }
    }

    void cancelled() {
        Exchange call = exchange;
        if (!connected && call != null) {
            call.cancelled();
        }
    }
}
