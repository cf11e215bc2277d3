package io.github.onewrite.client;

import io.github.onewrite.netty.internal.NettyConnection;
import io.github.onewrite.netty.internal.NettySetup;
import io.netty.bootstrap.Bootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFactory;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelOption;
import io.netty.channel.ChannelPipeline;
import io.netty.channel.EventLoop;
import io.netty.channel.group.ChannelGroup;
import io.netty.channel.pool.AbstractChannelPoolHandler;
import io.netty.channel.pool.ChannelHealthChecker;
import io.netty.channel.pool.SimpleChannelPool;
import io.netty.handler.codec.http.HttpClientCodec;
import io.netty.handler.codec.http.HttpContentDecompressor;
import io.netty.handler.proxy.HttpProxyHandler;
import io.netty.handler.ssl.SslHandler;
import io.netty.resolver.NoopAddressResolverGroup;
import io.netty.util.NetUtil;
import io.netty.util.concurrent.Future;
import io.netty.util.concurrent.FutureListener;
import io.netty.util.concurrent.ImmediateEventExecutor;
import io.netty.util.concurrent.Promise;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLParameters;
import org.jspecify.annotations.Nullable;

/**
 * Netty's pool for one origin, with a limit and a queue that a call can leave. The pool, its channels and their calls are
 * confined to one event loop: no locks, no hop between threads.
 */
final class OriginPool extends SimpleChannelPool {
    static final String CLOSED = "the client is closed";

    final OnewriteClientBuilder settings;
    private final Target.Origin origin;
    private final EventLoop loop;
    private final ChannelGroup open;

    /** Of the client: this pool leaves it when it has no connection. */
    private final Map<Target.Origin, OriginPool> pools;

    /** Without a channel: the queue, and those whose channel connects. */
    private final Set<Call<?>> waiting = new LinkedHashSet<>();

    private final Set<Call<?>> connecting = new LinkedHashSet<>();

    /** The call for which a channel is acquired at this moment. */
    private @Nullable Call<?> acquiring;

    private int used;
    private volatile boolean closed;
    private boolean sweeps;
    private final FutureListener<Void> released = done -> free();

    OriginPool(
            OnewriteClientBuilder settings,
            Target.Origin origin,
            EventLoop loop,
            ChannelFactory<? extends Channel> channels,
            ChannelGroup open,
            NettySetup netty,
            Map<Target.Origin, OriginPool> pools) {
        super(
                netty.apply(bootstrap(settings, origin, loop, channels), lookedUp(settings, origin)),
                netty.wrap(pipeline(settings, origin)),
                usability(loop),
                true,
                true);
        this.settings = settings;
        this.origin = origin;
        this.loop = loop;
        this.open = open;
        this.pools = pools;
    }

    EventLoop loop() {
        return loop;
    }

    boolean isSecure() {
        return origin.tls();
    }

    @Override
    public String toString() {
        return origin.toString();
    }

    /** Called before a channel is used and before it is kept. */
    private static ChannelHealthChecker usability(EventLoop loop) {
        Future<Boolean> usable = loop.newSucceededFuture(true);
        Future<Boolean> unusable = loop.newSucceededFuture(false);
        return channel -> Connection.of(channel).isUsable() ? usable : unusable;
    }

    @SuppressWarnings("unchecked")
    private static Bootstrap bootstrap(
            OnewriteClientBuilder settings,
            Target.Origin origin,
            EventLoop loop,
            ChannelFactory<? extends Channel> channels) {
        Proxy proxy = settings.proxy;
        boolean tunnel = proxy != null && origin.tls();
        String host = proxy == null || tunnel ? origin.host() : proxy.host();
        int port = proxy == null || tunnel ? origin.port() : proxy.port();
        Bootstrap bootstrap = new Bootstrap()
                .group(loop)
                .channelFactory((ChannelFactory<Channel>) channels)
                .remoteAddress(
                        isLiteral(host) && !tunnel
                                ? new InetSocketAddress(host, port)
                                : InetSocketAddress.createUnresolved(host, port))
                .resolver(tunnel ? NoopAddressResolverGroup.INSTANCE : settings.resolver)
                .option(ChannelOption.CONNECT_TIMEOUT_MILLIS, OnewriteClientBuilder.millis(settings.connectTimeout));
        settings.channelOptions.forEach((option, value) -> bootstrap.option((ChannelOption<Object>) option, value));
        return bootstrap;
    }

    /** The name that each connection needs an address for, or the empty string. */
    private static String lookedUp(OnewriteClientBuilder settings, Target.Origin origin) {
        String host = settings.proxy == null ? origin.host() : settings.proxy.host();
        return isLiteral(host) ? "" : host;
    }

    private static boolean isLiteral(String host) {
        return NetUtil.createByteArrayFromIpAddressString(host) != null;
    }

    /** Acquires a channel for a call: now, or when one is free. */
    void acquire(Call<?> call) {
        if (closed) {
            call.fail(new IllegalStateException(CLOSED));
        } else if (used < settings.maxConnections) {
            use(call);
        } else if (waiting.size() < settings.maxPending) {
            waiting.add(call);
            call.waits();
        } else {
            call.fail(new IllegalStateException("Too many outstanding acquire operations"));
        }
    }

    private void use(Call<?> call) {
        used++;
        Promise<Channel> promise = loop.newPromise();
        acquiring = call;
        acquire(promise);
        acquiring = null;
        if (promise.isDone()) {
            acquired(call, promise);
        } else {
            connecting.add(call);
            promise.addListener(done -> acquired(call, promise));
        }
    }

    private void acquired(Call<?> call, Promise<Channel> promise) {
        connecting.remove(call);
        if (!promise.isSuccess()) {
            free();
            call.fail(promise.cause());
            return;
        }
        Connection connection = Connection.of(promise.getNow());
        if (call.isOver()) {
            giveBack(connection);
        } else {
            call.acquired(connection);
        }
    }

    @Override
    protected ChannelFuture connectChannel(Bootstrap bootstrap) {
        Call<?> maker = acquiring;
        ChannelFuture connects = super.connectChannel(bootstrap);
        Channel channel = connects.channel();
        if (channel.isOpen()) {
            open.add(channel);
        }
        NettyConnection wire = NettyConnection.of(channel);
        if (wire != null && maker != null) {
            wire.connect.madeFor(maker.timing);
        }
        return connects;
    }

    void giveBack(Connection connection) {
        release(connection.channel).addListener(released);
    }

    private void free() {
        used--;
        if (!waiting.isEmpty()) {
            Call<?> next = waiting.iterator().next();
            waiting.remove(next);
            next.waited();
            use(next);
        }
        sweepLater();
    }

    /** A call is over. */
    void left(Call<?> call) {
        waiting.remove(call);
        connecting.remove(call);
    }

    /** The client is closed: calls that have no channel end now, the others with their channels. Done after their hooks. */
    Future<?> end() {
        closed = true;
        try {
            return loop.submit(() -> {
                List<Call<?>> all = new ArrayList<>(waiting);
                all.addAll(connecting);
                all.forEach(call -> call.fail(new IllegalStateException(CLOSED)));
            });
        } catch (RejectedExecutionException e) {
            // The loop is shut down by its owner.
            return ImmediateEventExecutor.INSTANCE.newSucceededFuture(null);
        }
    }

    private void sweepLater() {
        if (!sweeps && settings.idleLimit > 0) {
            sweeps = true;
            loop.schedule(this::sweep, settings.idleLimit, TimeUnit.NANOSECONDS);
        }
    }

    /** Closes what has been idle for too long: nobody may want a connection to this origin again. */
    private void sweep() {
        sweeps = false;
        List<Channel> kept = new ArrayList<>();
        for (Channel each = pollChannel(); each != null; each = pollChannel()) {
            if (Connection.of(each).isUsable()) {
                kept.add(0, each);
            }
        }
        kept.forEach(this::offerChannel);
        if (!kept.isEmpty()) {
            sweepLater();
        } else if (used == 0) {
            pools.remove(origin, this);
        }
    }

    private static AbstractChannelPoolHandler pipeline(OnewriteClientBuilder settings, Target.Origin origin) {
        return new AbstractChannelPoolHandler() {
            @Override
            public void channelCreated(Channel channel) throws SSLException {
                ChannelPipeline pipeline = channel.pipeline();
                Proxy proxy = settings.proxy;
                NettyConnection wire = NettyConnection.of(channel);
                if (wire != null && proxy != null) {
                    wire.connect.proxy(NettySetup.hostAndPort(proxy.host(), proxy.port()));
                }
                if (origin.tls() && proxy != null) {
                    pipeline.addLast(tunnel(settings, proxy));
                }
                if (origin.tls()) {
                    pipeline.addLast(tls(settings, origin, channel));
                }
                pipeline.addLast(new HttpClientCodec(4096, 32768, 8192, true));
                if (settings.decompress) {
                    pipeline.addLast(new HttpContentDecompressor(0));
                }
                pipeline.addLast(new Connection(channel, wire, settings));
            }
        };
    }

    /** The proxy's name is resolved by the JDK, as Netty's own resolver does. */
    private static HttpProxyHandler tunnel(OnewriteClientBuilder settings, Proxy proxy) {
        InetSocketAddress address = new InetSocketAddress(proxy.host(), proxy.port());
        HttpProxyHandler handler = proxy.user() == null || proxy.password() == null
                ? new HttpProxyHandler(address)
                : new HttpProxyHandler(address, proxy.user(), proxy.password());
        handler.setConnectTimeoutMillis(OnewriteClientBuilder.millis(settings.connectTimeout));
        return handler;
    }

    private static SslHandler tls(OnewriteClientBuilder settings, Target.Origin origin, Channel channel)
            throws SSLException {
        SslHandler handler = settings.tls().newHandler(channel.alloc(), origin.host(), origin.port());
        // Netty 4.1 verifies the host name only on request; a context of the caller's may not either.
        SSLParameters parameters = handler.engine().getSSLParameters();
        parameters.setEndpointIdentificationAlgorithm("HTTPS");
        handler.engine().setSSLParameters(parameters);
        handler.setHandshakeTimeoutMillis(OnewriteClientBuilder.millis(settings.connectTimeout));
        return handler;
    }
}
