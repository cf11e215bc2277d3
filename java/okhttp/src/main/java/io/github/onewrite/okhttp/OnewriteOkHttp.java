package io.github.onewrite.okhttp;

import io.github.onewrite.OnewriteConfig;
import io.github.onewrite.Status;
import io.github.onewrite.TimingOptions;
import io.github.onewrite.internal.Setup;
import okhttp3.OkHttp;
import okhttp3.OkHttpClient;

/**
 * Sets TCP_NODELAY on the connections of an {@link OkHttpClient}, and times its requests.
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
 * <p>A request that is sent has a record, a retry or redirect another one; a response from the cache has none. The record
 * begins when the call is executed or enqueued. OkHttp removes the listener of WebSocket calls, and OkHttp 4 that of event
 * sources (okhttp-sse), too: they get TCP_NODELAY and have no record. OkHttp makes the sockets of SOCKS proxies itself:
 * these stay as they are.
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
     * Applies this to a builder: wraps the socket factory and, where this has a hook, the event listeners it has at this
     * moment, so call it last. A client built from another client shares its pool; connections made before stay as they are.
     *
     * @return the same builder; it stays as it is when all is switched off. An earlier application, by this or another
     *     customizer, to the builder or the client it comes from, is not repeated
     */
    public OkHttpClient.Builder apply(OkHttpClient.Builder builder) {
        OnewriteConfig config = setup.switches();
        OkHttpClient before = builder.build();
        boolean isOther = isOfAnotherCopy(before);
        if (isOther) {
            Setup.otherCopy();
        }
        if (config.disabled() || isOther) {
            return builder;
        }
        setup.applied();
        setup.note("quickack", "OkHttp's sockets do not have it");
        setup.note("coalesce", "left to OkHttp, which writes up to 8 KiB in one");
        if (config.changesWire() && !(before.socketFactory() instanceof NodelaySocketFactory)) {
            builder.socketFactory(new NodelaySocketFactory(before.socketFactory(), setup.withoutNodelay));
        }
        if (setup.times() && !(before.eventListenerFactory() instanceof CallListener.Factory)) {
            builder.eventListenerFactory(new CallListener.Factory(before.eventListenerFactory(), setup.hooks()));
        }
        return builder;
    }

    /** Whether a copy of these classes by another class loader was applied. */
    private static boolean isOfAnotherCopy(OkHttpClient client) {
        return isOfAnotherCopy(client.socketFactory(), NodelaySocketFactory.class)
                || isOfAnotherCopy(client.eventListenerFactory(), CallListener.Factory.class);
    }

    private static boolean isOfAnotherCopy(Object found, Class<?> ours) {
        return found.getClass() != ours && found.getClass().getName().equals(ours.getName());
    }
}
