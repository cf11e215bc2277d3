package io.github.onewrite.reactornetty;

import io.github.onewrite.internal.Hooks;
import io.github.onewrite.internal.TimedCall;
import io.github.onewrite.internal.netty.TimedConnection;
import io.netty.channel.EventLoop;
import java.util.concurrent.RejectedExecutionException;
import org.jspecify.annotations.Nullable;
import reactor.netty.http.client.HttpClientConfig;

/**
 * A call on its way through Reactor's context, which carries it to the connection. A retry may take its next connection
 * before the one it left has said so: what belongs to a further attempt ends the one before.
 */
final class PendingCall {
    /** Its key in the context. */
    static final Class<PendingCall> KEY = PendingCall.class;

    private final Hooks hooks;
    private final @Nullable Object tag;
    private @Nullable TimedCall call;
    private boolean connected;
    private boolean served;

    PendingCall(Hooks hooks, @Nullable Object tag) {
        this.hooks = hooks;
        this.tag = tag;
    }

    synchronized void start(HttpClientConfig config) {
        if (call == null) {
            call = TimedCall.start(hooks, config.method().name(), url(config), tag);
        }
    }

    private static String url(HttpClientConfig config) {
        String uri = config.uri();
        String base = config.baseUrl();
        if (uri == null) {
            return base == null ? "/" : base;
        }
        if (base == null || !uri.startsWith("/")) {
            return uri;
        }
        return base.endsWith("/") ? base + uri.substring(1) : base + uri;
    }

    /** The call, about to have a connection made. */
    synchronized @Nullable TimedCall connecting() {
        if (call != null && served) {
            served = false;
            call.left();
        }
        return call;
    }

    /** The connection is the call's. */
    synchronized void serveBy(TimedConnection wire) {
        wire.serve(connecting());
        served = true;
    }

    /** The response's head is with the caller: from now on the connection says how the call ends. */
    synchronized void connected() {
        connected = true;
    }

    /**
     * The call is answered. Its hooks run on the connection's loop when what runs there now is done: Reactor Netty tells
     * of the end before it gives the connection back, and a slow hook would hold it.
     */
    synchronized void completed(EventLoop loop) {
        TimedCall ended = call;
        if (ended == null) {
            return;
        }
        long at = System.nanoTime();
        try {
            loop.execute(() -> ended.completed(at));
        } catch (RejectedExecutionException e) {
            // The loop is being shut down, and the connection with it.
            ended.completed(at);
        }
    }

    synchronized void failed(Throwable error) {
        if (call != null) {
            call.failed(error);
        }
    }

    synchronized void cancelled() {
        if (call != null && !connected) {
            call.cancelled();
        }
    }
}
