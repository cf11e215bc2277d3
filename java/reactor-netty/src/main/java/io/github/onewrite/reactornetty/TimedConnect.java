package io.github.onewrite.reactornetty;

import io.github.onewrite.internal.Hooks;
import io.github.onewrite.internal.TimedCall;
import io.github.onewrite.netty.TimedConnection;
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
    private final Hooks hooks;
    private final Object tagKey;

    /** @param tagKey under which a subscriber's context has the tag */
    TimedConnect(Mono<? extends Connection> connect, Hooks hooks, Object tagKey) {
        this.connect = connect;
        this.hooks = hooks;
        this.tagKey = tagKey;
    }

    @Override
    public void subscribe(CoreSubscriber<? super Connection> actual) {
        if (!hooks.wanted()) {
            connect.subscribe(actual);
            return;
        }
        Object tag = actual.currentContext().getOrDefault(tagKey, null);
        PendingCall call = new PendingCall(hooks, tag);
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

    static void starting(HttpClientConfig config) {
        PendingCall call = SUBSCRIBING.get();
        if (call != null) {
            call.start(config);
        }
    }

    /** The call a context carries, or null. */
    static @Nullable PendingCall callOf(@Nullable ContextView context) {
        return context == null ? null : context.getOrDefault(PendingCall.KEY, null);
    }

    /** The call for which a connection is being made. */
    static @Nullable TimedCall connectingCall(Channel channel) {
        PendingCall call = callOf(ReactorNetty.getChannelContext(channel));
        return call == null ? null : call.connecting();
    }

    static void dnsStart(Connection connection) {
        TimedCall call = connectingCall(connection.channel());
        if (call != null) {
            call.attempt();
            TimedConnection wire = TimedConnection.of(connection.channel());
            String host = wire == null ? "" : wire.host();
            call.step(timer -> timer.dnsStart(host));
        }
    }

    /** A failed lookup leaves the phase open: the error that follows ends it, with dns as its phase. */
    static void dnsEnd(Connection connection) {
        TimedCall call = connectingCall(connection.channel());
        if (call != null) {
            call.step(timer -> timer.dnsEnd(null));
        }
    }
}
