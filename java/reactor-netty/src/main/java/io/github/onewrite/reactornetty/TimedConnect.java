package io.github.onewrite.reactornetty;

import io.github.onewrite.netty.NettyConnection;
import io.github.onewrite.netty.OnewriteNetty;
import io.netty.channel.Channel;
import org.jspecify.annotations.Nullable;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Mono;
import reactor.netty.Connection;
import reactor.netty.ReactorNetty;
import reactor.netty.http.client.HttpClientConfig;
import reactor.util.context.ContextView;

/**
 * The Mono in which Reactor Netty gets a connection, sends the request, follows redirects and retries, up to the
 * response's head: one subscription is one call.
 */
final class TimedConnect extends Mono<Connection> {
    /**
     * The call being subscribed, for doOnConnect: it alone has method and URL, it has no context, and it runs within the
     * subscription.
     */
    private static final ThreadLocal<@Nullable PendingCall> SUBSCRIBING = new ThreadLocal<>();

    private final Mono<? extends Connection> connect;
    private final OnewriteNetty onewrite;
    private final Object tagKey;

    /** @param tagKey under which a subscriber's context has the tag */
    TimedConnect(Mono<? extends Connection> connect, OnewriteNetty onewrite, Object tagKey) {
        this.connect = connect;
        this.onewrite = onewrite;
        this.tagKey = tagKey;
    }

    @Override
    public void subscribe(CoreSubscriber<? super Connection> actual) {
        if (!onewrite.wanted()) {
            connect.subscribe(actual);
            return;
        }
        Object tag = actual.currentContext().getOrDefault(tagKey, null);
        PendingCall call = new PendingCall(onewrite, tag);
        PendingCall outer = SUBSCRIBING.get();
        SUBSCRIBING.set(call);
        try {
            connect.doOnNext(connection -> call.connected())
                    .doOnError(call::failed)
                    .doOnCancel(call::cancelled)
                    .contextWrite(context -> context.put(PendingCall.KEY, call))
                    .subscribe(actual);
        } finally {
            if (outer == null) {
                SUBSCRIBING.remove();
            } else {
                SUBSCRIBING.set(outer);
            }
        }
    }

    /** On another thread than the subscriber's, the call starts with its request: {@link ExchangeObserver}. */
    static void starting(HttpClientConfig config) {
        PendingCall call = SUBSCRIBING.get();
        if (call != null) {
            call.start(config.method(), url(config));
        }
    }

    private static @Nullable String url(HttpClientConfig config) {
        String uri = config.uri();
        String base = config.baseUrl();
        if (uri == null) {
            return base;
        }
        if (base == null || !uri.startsWith("/")) {
            return uri;
        }
        return base.endsWith("/") ? base + uri.substring(1) : base + uri;
    }

    /** The call a context carries, or null. */
    static @Nullable PendingCall callOf(@Nullable ContextView context) {
        return context == null ? null : context.getOrDefault(PendingCall.KEY, null);
    }

    /** The call for which a connection is being made. */
    static OnewriteNetty.@Nullable Call connectingCall(Channel channel) {
        PendingCall call = callOf(ReactorNetty.getChannelContext(channel));
        return call == null ? null : call.connecting();
    }

    static void dnsStart(Connection connection) {
        OnewriteNetty.Call call = connectingCall(connection.channel());
        if (call != null) {
            NettyConnection wire = NettyConnection.of(connection.channel());
            String host = wire == null ? "" : wire.host();
            call.step((timed, at) -> {
                timed.attempt(at);
                timed.dnsStart(at, host);
            });
        }
    }

    /** A failed lookup leaves the phase open: the error that follows ends it, with dns as its phase. */
    static void dnsEnd(Connection connection) {
        PendingCall call = callOf(ReactorNetty.getChannelContext(connection.channel()));
        if (call != null) {
            call.resolved(connection.channel().eventLoop());
        }
    }
}
