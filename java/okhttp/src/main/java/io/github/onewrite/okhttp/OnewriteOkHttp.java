package io.github.onewrite.okhttp;

import io.github.onewrite.OnewriteConfig;
import io.github.onewrite.Status;
import io.github.onewrite.TimingOptions;
import javax.net.ssl.X509TrustManager;
import okhttp3.ConnectionSpec;
import okhttp3.OkHttp;
import okhttp3.OkHttpClient;

/**
 * Gives an {@link OkHttpClient} TCP_NODELAY, one write per request, and timing.
 *
 * <pre>{@code
 * OkHttpClient client = OnewriteOkHttp.create()
 *         .onTiming(System.out::println)
 *         .apply(new OkHttpClient.Builder())
 *         .build();
 * }</pre>
 *
 * <p>OkHttp 4.12 and 5.5 never set TCP_NODELAY. So a request that takes more than one write, every first request of a
 * TLS 1.3 connection and every body over 8 KiB among them, can wait some 40 ms for the ACK of the first. And each 8 KiB
 * are a separate write and TLS record. Here a body in memory leaves in pieces of 16 KiB, the head in the first. The
 * head of any other body leaves with its first bytes. That holds for HTTP/1.1 on sockets of the JDK's own factories.
 * Everything else stays OkHttp's.
 *
 * <p>The tag that a listener factory is given is what the request carries as {@code tag(Object.class)}.
 */
public final class OnewriteOkHttp extends TimingOptions<OnewriteOkHttp> {
    private OnewriteOkHttp() {}

    /** Starts with the switches of system properties and environment. */
    public static OnewriteOkHttp create() {
        return new OnewriteOkHttp();
    }

    @Override
    protected Status.Base base() {
        return new Status.Base("okhttp", OkHttp.VERSION);
    }

    @Override
    protected OnewriteOkHttp self() {
        return this;
    }

    /**
     * Applies this to a builder: wraps the socket factory and the event listeners it has at this moment, so call it
     * last. A client built from another client shares its pool; connections made before stay as they are.
     *
     * @return the same builder; it stays as it is when all is switched off, or when this or another customizer was applied
     *     to it, or to the client it comes from
     */
    public OkHttpClient.Builder apply(OkHttpClient.Builder builder) {
        OnewriteConfig config = switches();
        if (config.disabled() || builder.interceptors().stream().anyMatch(UncheckedErrors.class::isInstance)) {
            return builder;
        }
        applied();
        note("quickack", "OkHttp's sockets do not have it");
        OkHttpClient before = builder.build();
        if (config.coalesces() && !NodelaySocketFactory.joins(before.socketFactory())) {
            note("coalesce", "the socket factory is not the JDK's: its writes are left alone");
        }
        if (config.guardsNodelay() || config.coalesces()) {
            builder.socketFactory(new NodelaySocketFactory(before.socketFactory(), config));
        }
        if (config.coalesces()) {
            joinRecords(builder, before, config);
            builder.addNetworkInterceptor(new Joiner());
        }
        builder.eventListenerFactory(
                new CallListener.Factory(hooks(), before.eventListenerFactory(), new SocketCheck(config, counts())));
        builder.interceptors().add(0, new UncheckedErrors());
        return builder;
    }

    private static void joinRecords(OkHttpClient.Builder builder, OkHttpClient before, OnewriteConfig config) {
        boolean cleartextOnly = before.connectionSpecs().stream().noneMatch(ConnectionSpec::isTls);
        X509TrustManager trust = cleartextOnly ? null : before.x509TrustManager();
        if (trust != null) {
            builder.sslSocketFactory(
                    new JoiningSslSocketFactory(before.sslSocketFactory(), config.coalesceMax()), trust);
        }
    }
}
