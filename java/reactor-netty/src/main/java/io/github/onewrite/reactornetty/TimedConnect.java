package io.github.onewrite.reactornetty;

import io.github.onewrite.netty.internal.Exchange;
import io.github.onewrite.netty.internal.NettySetup;
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
     * The call being subscribed. Only doOnConnect sees method and URL, but it gets no Reactor
     * context; it runs within the subscription.
     */
    private static final ThreadLocal<@Nullable PendingCall> SUBSCRIBING = new ThreadLocal<>();

    private final Mono<? extends Connection> connect;
    private final NettySetup netty;
    private final Object key;

    /**
     * The same as the Mono given, with a call in its context.
     *
     * @param key under which the context has the call: that of the customizer
     */
    TimedConnect(Mono<? extends Connection> connect, NettySetup netty, Object key) {
        this.connect = connect;
        this.netty = netty;
        this.key = key;
    }

    @Override
    public void subscribe(CoreSubscriber<? super Connection> actual) {
        if (!netty.wanted()) {
            connect.subscribe(actual);
            return;
        }
        Object tag = actual.currentContext().getOrDefault(OnewriteReactorNetty.TAG, null);
        PendingCall call = new PendingCall(key, netty, tag);
        PendingCall outer = SUBSCRIBING.get();
        SUBSCRIBING.set(call);
        try {
            connect.doOnNext(connection -> call.connected())
                    .doOnError(call::failed)
                    .doOnCancel(call::cancelled)
                    .contextWrite(context -> context.put(key, call))
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
    static void starting(HttpClientConfig config, Object key) {
        PendingCall now = SUBSCRIBING.get();
        if (now != null && now.key == key) {
            now.start(config.method(), url(config));
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

    /** The call of a customizer that a context carries, or null. */
    static @Nullable PendingCall callOf(@Nullable ContextView context, Object key) {
        return context == null ? null : context.getOrDefault(key, null);
    }

    /** The call for which a connection is being made. */
    static @Nullable Exchange connectingCall(Channel channel, Object key) {
        PendingCall call = callOf(ReactorNetty.getChannelContext(channel), key);
        return call == null ? null : call.connecting();
    }
}
