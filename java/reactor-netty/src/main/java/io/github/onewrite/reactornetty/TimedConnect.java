package io.github.onewrite.reactornetty;

import io.github.onewrite.ErrorKind;
import io.github.onewrite.internal.ErrorKinds;
import io.github.onewrite.internal.Hooks;
import org.jspecify.annotations.Nullable;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Mono;
import reactor.netty.Connection;
import reactor.netty.http.client.HttpClientConfig;

/**
 * The Mono in which Reactor Netty gets a connection, sends the request, follows redirects and retries, up to the head of the
 * response: with a {@link Call} in its context.
 */
final class TimedConnect extends Mono<Connection> {
    /** Only doOnConnect shows method and URL. It gets no Reactor context, and runs within the subscription. */
    private static final ThreadLocal<@Nullable Call> SUBSCRIBING = new ThreadLocal<>();

    private final Mono<? extends Connection> connect;
    private final Hooks hooks;

    TimedConnect(Mono<? extends Connection> connect, Hooks hooks) {
        this.connect = connect;
        this.hooks = hooks;
    }

    @Override
    public void subscribe(CoreSubscriber<? super Connection> actual) {
        Call call = new Call(hooks, Hooks.running());
        Call outer = SUBSCRIBING.get();
        SUBSCRIBING.set(call);
        try {
            connect.doOnNext(connection -> call.answered())
                    .doOnError(error -> call.failed(ErrorKinds.of(error, ReactorErrors::kindOf)))
                    .doOnCancel(() -> call.failed(ErrorKind.CANCELLED))
                    .contextWrite(context -> context.put(Call.class, call))
                    .subscribe(actual);
        } finally {
            if (outer == null) {
                SUBSCRIBING.remove();
            } else {
                SUBSCRIBING.set(outer);
            }
        }
    }

    static void connecting(HttpClientConfig config) {
        Call call = SUBSCRIBING.get();
        if (call != null) {
            call.describe(config.method().name(), url(config));
        }
    }

    private static String url(HttpClientConfig config) {
        String uri = config.uri() == null ? "" : config.uri();
        String base = config.baseUrl();
        if (base == null || !(uri.isEmpty() || uri.startsWith("/"))) {
            return uri;
        }
        return base.endsWith("/") && uri.startsWith("/") ? base + uri.substring(1) : base + uri;
    }
}
