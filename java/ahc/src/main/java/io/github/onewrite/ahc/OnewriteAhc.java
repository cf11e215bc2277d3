package io.github.onewrite.ahc;

import io.github.onewrite.OnewriteConfig;
import io.github.onewrite.Status;
import io.github.onewrite.TimingOptions;
import io.github.onewrite.internal.Setup;
import io.github.onewrite.netty.OnewriteNetty;
import io.netty.channel.Channel;
import io.netty.channel.ChannelOption;
import java.util.function.Consumer;
import org.asynchttpclient.AsyncHttpClientConfig;
import org.asynchttpclient.DefaultAsyncHttpClientConfig;
import org.jspecify.annotations.Nullable;

/**
 * Makes small streamed bodies of AsyncHttpClient leave in one write, checks TCP_NODELAY, and times every call.
 *
 * <pre>{@code
 * DefaultAsyncHttpClientConfig.Builder builder = OnewriteAhc.create()
 *         .onTiming(System.out::println)
 *         .apply(Dsl.config());
 * AsyncHttpClient client = Dsl.asyncHttpClient(builder);
 * }</pre>
 *
 * <p>AsyncHttpClient sends a body in memory with its head. After the
 * body of an InputStream or a BodyGenerator it writes the chunked terminator separately (NettyInputStreamBody,
 * NettyBodyBody), and a file follows its head in a second write. With this, what is written within 2 ms leaves together, up to
 * {@link OnewriteConfig#coalesceMax}. Pools, retries, redirects, TLS and errors stay AsyncHttpClient's.
 *
 * <p>HTTP/1.1 only: of calls over HTTP/2 the record has the connection's phases, the total and the outcome. Calls whose
 * handler is a WebSocketUpgradeHandler, a ResumableAsyncHandler or a TransferCompletionHandler are not timed: the client
 * tests for these classes, so they cannot be wrapped.
 *
 * <p>AsyncHttpClient's requests carry no tag: a listener factory is given null.
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
     * Applies this to a builder. Call it last: it wraps the channel initializers the builder has at this moment, and
     * obeys the TCP_NODELAY it finds: a {@code setTcpNoDelay(false)} or a channel option of that name.
     *
     * @return the same builder; it stays as it is when all is switched off, or when this or another customizer was applied
     *     to it before
     */
    public DefaultAsyncHttpClientConfig.Builder apply(DefaultAsyncHttpClientConfig.Builder builder) {
        OnewriteConfig config = setup.switches();
        AsyncHttpClientConfig before = builder.build();
        if (config.disabled() || before.getRequestFilters().stream().anyMatch(TimingFilter.class::isInstance)) {
            return builder;
        }
        setup.applied();
        boolean named = !before.isTcpNoDelay() || before.getChannelOptions().containsKey(ChannelOption.TCP_NODELAY);
        if (named) {
            setup.note("nodelay", "left to the client, which sets it itself");
        }
        OnewriteNetty onewrite = OnewriteNetty.of(setup);
        ChannelSetup channels = new ChannelSetup(onewrite, config.guardsNodelay() && !named ? setup.counts() : null);
        builder.setHttpAdditionalChannelInitializer(
                after(before.getHttpAdditionalChannelInitializer(), channels::http));
        builder.setWsAdditionalChannelInitializer(
                after(before.getWsAdditionalChannelInitializer(), channels::websocket));
        return builder.addRequestFilter(new TimingFilter(onewrite, channels));
    }

    private static Consumer<Channel> after(@Nullable Consumer<Channel> first, Consumer<Channel> second) {
        return first == null ? second : first.andThen(second);
    }
}
