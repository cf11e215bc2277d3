package io.github.onewrite.reactornetty;

import io.github.onewrite.OnewriteConfig;
import io.github.onewrite.Status;
import io.github.onewrite.TimingOptions;
import io.github.onewrite.internal.Setup;
import io.github.onewrite.netty.internal.NettyConnection;
import io.github.onewrite.netty.internal.NettySetup;
import io.netty.channel.ChannelOption;
import io.netty.util.AttributeKey;
import java.util.function.Consumer;
import reactor.netty.Connection;
import reactor.netty.http.client.HttpClient;

/**
 * Makes small streamed bodies of a Reactor Netty {@link HttpClient} leave in one write, checks TCP_NODELAY, and times
 * every call. Spring's WebClient stands on that client.
 *
 * <pre>{@code
 * HttpClient client = OnewriteReactorNetty.create()
 *         .onTiming(System.out::println)
 *         .apply(HttpClient.create());
 * WebClient web = WebClient.builder()
 *         .clientConnector(new ReactorClientHttpConnector(client))
 *         .build();
 * }</pre>
 *
 * <p>Reactor Netty sends a body that is a {@code Mono} with its head. A {@code Flux} it subscribes when the head is
 * written, and it writes the terminator when the last chunk is: three segments (HttpOperations.then, MonoSendMany). With
 * this, what a {@code Flux} publishes in the same turn of the event loop leaves with the head, up to
 * {@link OnewriteConfig#coalesceMax}. What another thread publishes later leaves later: so a body of Spring's RestClient
 * is a second segment, without a stall, and so is a file. Pools, retries, redirects, TLS and errors stay Reactor Netty's.
 *
 * <p>HTTP/1.1 only: of calls over HTTP/2 the record has the connection's phases, the total and the outcome.
 *
 * <p>The tag that a listener factory is given is what the subscriber's context has under {@link #TAG}.
 */
public final class OnewriteReactorNetty extends TimingOptions<OnewriteReactorNetty> {
    /** Key of the Reactor context under which a subscriber gives the tag that is handed to timing hooks. */
    public static final String TAG = "io.github.onewrite.tag";

    /** On a client's channels once this was applied to it. */
    private static final AttributeKey<Boolean> APPLIED = AttributeKey.valueOf("onewrite.applied");

    private final Setup setup;

    private OnewriteReactorNetty(Setup setup) {
        super(setup);
        this.setup = setup;
    }

    /** Starts with the switches of system properties and environment. */
    public static OnewriteReactorNetty create() {
        return new OnewriteReactorNetty(new Setup(() -> Status.Base.of("reactor-netty-http", HttpClient.class)));
    }

    /**
     * Returns a client with these handlers. Call it last: it reads the channel options that the client has at this moment,
     * and obeys a TCP_NODELAY among them, on or off. Call it once per client, not per request: as with any
     * {@code doOnChannelInit}, connections made before, or by the client as it was, are not used.
     *
     * @return the client given, when all is switched off, or when this or another customizer was applied to it before
     */
    public HttpClient apply(HttpClient client) {
        OnewriteConfig config = setup.switches();
        if (config.disabled() || client.configuration().attributes().containsKey(APPLIED)) {
            return client;
        }
        setup.applied();
        boolean named = client.configuration().options().containsKey(ChannelOption.TCP_NODELAY);
        boolean nodelay = config.guardsNodelay() && !named;
        if (named) {
            setup.note("nodelay", "left to the client, which sets it itself");
        }
        NettySetup netty = new NettySetup(setup.copy(), true);
        return client.attr(APPLIED, true)
                .doOnChannelInit(new ChannelSetup(netty, this, nodelay ? setup.withoutNodelay : null))
                .doOnResolve(connection -> wire(connection, wire -> wire.connect.resolving()))
                .observe(new ExchangeObserver(this))
                .doOnConnect(started -> TimedConnect.starting(started, this))
                .mapConnect(connect -> new TimedConnect(connect, netty, this))
                // OpenTelemetry's agent makes its span current in this callback, and not where the request is written.
                .doAfterRequest((request, connection) -> wire(connection, NettyConnection::requestWrite));
    }

    private static void wire(Connection connection, Consumer<NettyConnection> step) {
        NettyConnection wire = NettyConnection.of(connection.channel());
        if (wire != null) {
            step.accept(wire);
        }
    }
}
