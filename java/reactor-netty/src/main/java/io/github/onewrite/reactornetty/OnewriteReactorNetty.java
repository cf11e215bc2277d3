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
import reactor.util.context.ContextView;

/**
 * Makes small streamed bodies of a Reactor Netty {@link HttpClient} leave in one write, guards TCP_NODELAY, and times
 * requests. Spring's WebClient stands on that client.
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
 * this, what a {@code Flux} publishes in the same turn of the event loop leaves with the head. Chunks that another thread
 * publishes leave later: a body of Spring's RestClient is a second segment, without a stall, and so is a file.
 * Pools, retries, redirects, TLS and errors stay Reactor Netty's.
 *
 * <p>HTTP/1.1 only: a request over HTTP/2 has no record, nor has one that changes to WebSocket. Reactor Netty gives an early
 * response (103) to the program as if it were the answer; so does the record.
 */
public final class OnewriteReactorNetty extends TimingOptions<OnewriteReactorNetty> {
    /** On the channels of a client once this was applied to it: this class, whose copies differ. */
    private static final AttributeKey<Class<?>> APPLIED = AttributeKey.valueOf("io.github.onewrite.reactornetty");

    private final Setup setup;
    private final NettySetup netty;

    private OnewriteReactorNetty(Setup setup) {
        super(setup);
        this.setup = setup;
        this.netty = new NettySetup(setup);
    }

    /** Starts with the switches of system properties and environment. */
    public static OnewriteReactorNetty create() {
        return new OnewriteReactorNetty(new Setup(() -> Status.Base.of("reactor-netty-http", HttpClient.class)));
    }

    /**
     * Returns a client with these handlers. Call it last: it reads the channel options that the client has at this moment,
     * and obeys a TCP_NODELAY among them, on or off. As with any {@code doOnChannelInit}, connections made before, or by the
     * client as it was, are not used; clients that one customizer was applied to share their connections as before.
     *
     * @return the same client, when all is switched off, or when this or another customizer was applied to it before
     */
    public HttpClient apply(HttpClient client) {
        OnewriteConfig config = setup.switches();
        Object applied = client.configuration().attributes().get(APPLIED);
        if (applied != null && applied != OnewriteReactorNetty.class) {
            Setup.otherCopy();
        }
        if (config.disabled() || applied != null) {
            return client;
        }
        setup.applied();
        HttpClient guarded = client;
        if (client.configuration().options().containsKey(ChannelOption.TCP_NODELAY)) {
            setup.note("nodelay", "left to the client, which sets it itself");
        } else if (config.changesWire()) {
            guarded = client.attr(NettySetup.NODELAY, true);
        }
        HttpClient prepared =
                guarded.attr(APPLIED, OnewriteReactorNetty.class).doOnChannelInit(new ChannelSetup(netty));
        return setup.times() ? timed(prepared) : prepared;
    }

    /**
     * Binds requests to their calls by what is no part of a pool's key. An observer is one: beside an observer of the program's
     * it is wrapped anew by each client, and each client has a pool of its own.
     */
    private HttpClient timed(HttpClient client) {
        return client.mapConnect(connect -> new TimedConnect(connect, setup.hooks()))
                .doOnConnect(TimedConnect::connecting)
                .doOnResolve(connection -> onConnection(connection, NettyConnection::lookingUp))
                .doOnRequest((request, connection) ->
                        onCall(request.currentContextView(), call -> call.binds(request, connection.channel())))
                .doOnResponse((response, connection) -> onConnection(
                        connection, timed -> timed.answered(response.status().code())));
    }

    private static void onCall(ContextView context, Consumer<Call> step) {
        Call call = Call.of(context);
        if (call != null) {
            step.accept(call);
        }
    }

    private static void onConnection(Connection connection, Consumer<NettyConnection> step) {
        NettyConnection timed = NettyConnection.of(connection.channel());
        if (timed != null) {
            step.accept(timed);
        }
    }
}
