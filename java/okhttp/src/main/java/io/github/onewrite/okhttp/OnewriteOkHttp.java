package io.github.onewrite.okhttp;

import io.github.onewrite.OnewriteConfig;
import io.github.onewrite.Status;
import io.github.onewrite.TimingOptions;
import io.github.onewrite.internal.Hooks;
import io.github.onewrite.internal.Setup;
import okhttp3.OkHttp;
import okhttp3.OkHttpClient;

/**
 * Gives an {@link OkHttpClient} TCP_NODELAY and timing.
 *
 * <pre>{@code
 * OkHttpClient client = OnewriteOkHttp.create()
 *         .onTiming(System.out::println)
 *         .apply(new OkHttpClient.Builder())
 *         .build();
 * }</pre>
 *
 * <p>OkHttp 4.12 and 5.5 write head and body in one write up to 8 KiB, and never set TCP_NODELAY. So a request that takes
 * more than one write, every first request of a TLS 1.3 connection and every body over 8 KiB among them, can wait some 40
 * ms for the ACK of the first. With TCP_NODELAY it does not wait. The writes and everything else stay OkHttp's.
 *
 * <p>The record of a call begins when it is executed or enqueued. OkHttp takes the listener away from WebSocket calls, and
 * OkHttp 4 from event sources (okhttp-sse), too: they get TCP_NODELAY and are not timed. The tag that a listener factory is
 * given is what the request carries as {@code tag(Object.class)}.
 */
public final class OnewriteOkHttp extends TimingOptions<OnewriteOkHttp> {
    private final Setup setup;

    private OnewriteOkHttp(Setup setup) {
        super(setup);
        this.setup = setup;
    }

    /** Starts with the switches of system properties and environment. */
    public static OnewriteOkHttp create() {
        return new OnewriteOkHttp(new Setup(() -> new Status.Base("okhttp", OkHttp.VERSION)));
    }

    /**
     * Applies this to a builder: wraps the socket factory and the event listeners it has at this moment, so call it
     * last. A client built from another client shares its pool; connections made before stay as they are.
     *
     * @return the same builder; it stays as it is when all is switched off, or when this or another customizer was applied
     *     to it, or to the client it comes from
     */
    public OkHttpClient.Builder apply(OkHttpClient.Builder builder) {
        OnewriteConfig config = setup.switches();
        OkHttpClient before = builder.build();
        if (config.disabled()
                || before.socketFactory() instanceof NodelaySocketFactory
                || before.eventListenerFactory() instanceof CallListener.Factory) {
            return builder;
        }
        setup.applied();
        setup.note("quickack", "OkHttp's sockets do not have it");
        setup.note("coalesce", "left to OkHttp, which writes up to 8 KiB in one");
        Hooks hooks = setup.hooks();
        if (config.guardsNodelay()) {
            builder.socketFactory(new NodelaySocketFactory(before.socketFactory()));
        }
        if (config.guardsNodelay() || hooks.wanted()) {
            Connections connections = new Connections(config.guardsNodelay() ? setup.withoutNodelay : null);
            CallListener.Factory listeners =
                    new CallListener.Factory(hooks, before.eventListenerFactory(), connections);
            builder.eventListenerFactory(listeners);
            if (hooks.wanted()) {
                builder.interceptors().add(0, listeners);
            }
        }
        return builder;
    }
}
