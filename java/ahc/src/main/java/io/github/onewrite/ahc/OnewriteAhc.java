package io.github.onewrite.ahc;

import io.github.onewrite.OnewriteConfig;
import io.github.onewrite.Status;
import io.github.onewrite.TimingOptions;
import io.github.onewrite.internal.Setup;
import io.netty.channel.Channel;
import io.netty.channel.ChannelOption;
import java.util.function.Consumer;
import org.asynchttpclient.AsyncHttpClientConfig;
import org.asynchttpclient.DefaultAsyncHttpClientConfig;

/**
 * Times the exchanges of AsyncHttpClient over HTTP/1.1, and checks TCP_NODELAY.
 *
 * <pre>{@code
 * DefaultAsyncHttpClientConfig.Builder builder = OnewriteAhc.create()
 *         .onTiming(System.out::println)
 *         .apply(Dsl.config());
 * AsyncHttpClient client = Dsl.asyncHttpClient(builder);
 * }</pre>
 *
 * <p>Everything else stays AsyncHttpClient's, its writes too: it sends a body in memory with the head. Streams, files and
 * multipart messages leave in several writes, which stall at no first hop, because TCP_NODELAY is on. To join them would
 * hold bytes while AsyncHttpClient reads an InputStream on its event loop.
 *
 * <p>The times are those of the channel. So each exchange is one record: from the connect on if the connection was made
 * for it, else from the write of its head on, and without queue, DNS and proxy. A redirect and a retry have one each, and a
 * call that gets no connection has none. A call that was given up, by a time limit too, closes its channel: its record says
 * {@code closed}. Nothing is recorded of WebSockets, of
 * HTTP/2 and of the CONNECT of a tunnel. There is no tag: a listener factory is given null.
 */
public final class OnewriteAhc extends TimingOptions<OnewriteAhc> {
    private final Setup setup;

    private OnewriteAhc(Setup setup) {
        super(setup);
        this.setup = setup;
    }

    /** Starts with the switches of system properties and environment. */
    public static OnewriteAhc create() {
        return new OnewriteAhc(new Setup(() -> Status.Base.of("async-http-client", AsyncHttpClientConfig.class)));
    }

    /**
     * Applies this to a builder. Call it last: it wraps the channel initializer the builder has at this moment, and obeys
     * the TCP_NODELAY it finds: a {@code setTcpNoDelay(false)} or a channel option of that name.
     *
     * @return the same builder; it stays as it is when all is switched off, or when this or another customizer was applied
     *     to it before
     */
    public DefaultAsyncHttpClientConfig.Builder apply(DefaultAsyncHttpClientConfig.Builder builder) {
        OnewriteConfig config = setup.switches();
        AsyncHttpClientConfig before = builder.build();
        Consumer<Channel> own = before.getHttpAdditionalChannelInitializer();
        if (config.disabled() || own instanceof ChannelSetup) {
            return builder;
        }
        setup.applied();
        setup.note("coalesce", "left to AsyncHttpClient, which sends a body in memory with its head");
        boolean named = !before.isTcpNoDelay() || before.getChannelOptions().containsKey(ChannelOption.TCP_NODELAY);
        if (named) {
            setup.note("nodelay", "left to the client, which sets it itself");
        }
        return builder.setHttpAdditionalChannelInitializer(
                new ChannelSetup(setup, own, config.guardsNodelay() && !named));
    }
}
