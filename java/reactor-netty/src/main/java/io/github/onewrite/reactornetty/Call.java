package io.github.onewrite.reactornetty;

import io.github.onewrite.ErrorKind;
import io.github.onewrite.Outcome;
import io.github.onewrite.internal.Hooks;
import io.github.onewrite.internal.Moment;
import io.github.onewrite.internal.Stamps;
import io.github.onewrite.netty.internal.NettyConnection;
import io.netty.channel.Channel;
import java.util.Objects;
import java.util.concurrent.RejectedExecutionException;
import org.jspecify.annotations.Nullable;
import reactor.netty.http.client.HttpClientRequest;
import reactor.util.context.ContextView;

/**
 * A call, from its subscription to the head of its response. Reactor's context brings it to the channels that are made for
 * it, and to the requests that are written for it: first one, then those of a redirect or a retry. A record that has a
 * connection is the connection's affair; this makes the one of a request that got none.
 */
final class Call {
    private final Hooks hooks;
    private final boolean isByHook;
    private volatile long askedAt = System.nanoTime();
    private volatile String method = "";
    private volatile String url = "";

    /** That was made for this call, or that carries its request; null before. */
    private volatile @Nullable Channel channel;

    /** The channel carries the request. */
    private volatile boolean isBound;

    /** Of the last request; null before, and where the channel is not timed, as with HTTP/2. */
    private volatile @Nullable Stamps record;

    /** The program has a response or an error. Some operators cancel after an error. */
    private volatile boolean isOver;

    private int requests;

    /** @param isByHook a hook requests: there is no record */
    Call(Hooks hooks, boolean isByHook) {
        this.hooks = hooks;
        this.isByHook = isByHook;
    }

    /** The call that a context carries, or null. */
    static @Nullable Call of(ContextView context) {
        return context.getOrDefault(Call.class, null);
    }

    /** Method and URL for the record of a request that gets no connection. */
    void describe(String itsMethod, String itsUrl) {
        method = itsMethod;
        url = itsUrl;
    }

    /** A channel is made. Reactor Netty makes another one for each address of a name. */
    void opens(Channel made) {
        Channel earlier = channel;
        NettyConnection connection = NettyConnection.of(made);
        NettyConnection failed = earlier == null || isBound ? null : NettyConnection.of(earlier);
        if (connection != null && failed != null) {
            connection.continuesFrom(failed);
        }
        isBound = false;
        channel = made;
    }

    /** The channel carries this request, which is written next. */
    void binds(HttpClientRequest request, Channel acquired) {
        Stamps last = record;
        if (last != null && last.isOver()) {
            askedAt = last.startedAt + last.totalNanos(); // A redirect, or a retry.
        }
        NettyConnection connection = NettyConnection.of(acquired);
        channel = acquired;
        isBound = true;
        Stamps begun = connection == null ? null : connection.requested(askedAt, isByHook, requests++);
        if (begun != null) {
            // Unless the connection writes it, and so knows better.
            begun.method = request.method().name();
            begun.target = Objects.requireNonNullElse(request.resourceUrl(), "");
        }
        record = begun;
    }

    /** The program has the head of its response: what comes now is the connection's affair. */
    void answered() {
        isOver = true;
    }

    /** The connection could not be had, the request could not be sent, or the program gave up. */
    void failed(ErrorKind kind) {
        Channel last = channel;
        if (isByHook || isOver) {
            return;
        }
        isOver = true;
        if (last == null || !last.isRegistered() || last.eventLoop().inEventLoop()) {
            fail(kind);
            return;
        }
        try {
            last.eventLoop().execute(() -> fail(kind));
        } catch (RejectedExecutionException e) {
            fail(kind); // The loop is shut down, and changes nothing any more.
        }
    }

    private void fail(ErrorKind kind) {
        long at = System.nanoTime();
        Channel last = channel;
        Stamps sent = record;
        if (isBound && last != null && (sent == null || !sent.isOver())) {
            NettyConnection connection = NettyConnection.of(last);
            if (connection != null) {
                connection.failed(kind);
            }
        } else if (sent == null || !isBound || (sent.outcome == Outcome.OK && sent.status / 100 == 3)) {
            unsent(
                    kind,
                    at); // The first request, a retry, or a redirect. A WebSocket that is refused is none of these.
        }
    }

    private void unsent(ErrorKind kind, long at) {
        Stamps lost = new Stamps(askedAt);
        lost.method = method;
        lost.target = url;
        lost.resend = requests;
        NettyConnection opening =
                channel == null || isBound ? null : NettyConnection.of(Objects.requireNonNull(channel));
        if (opening != null) {
            opening.copyConnect(lost);
        }
        long begun = lost.at(Moment.DNS_START) == 0 ? lost.at(Moment.CONNECT_START) : lost.at(Moment.DNS_START);
        if (begun > askedAt) {
            lost.stamp(Moment.QUEUE_START, askedAt);
            lost.stamp(Moment.QUEUE_END, begun);
        } else if (begun == 0 && (kind == ErrorKind.POOL || kind == ErrorKind.CANCELLED)) {
            lost.stamp(Moment.QUEUE_START, askedAt);
        }
        lost.failed(kind, at);
        hooks.deliver(lost);
    }
}
