package io.github.onewrite.client;

import io.github.onewrite.internal.TimedCall;
import io.github.onewrite.netty.OnewriteNetty;
import io.netty.bootstrap.Bootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFactory;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelOption;
import io.netty.channel.ChannelPipeline;
import io.netty.channel.ChannelPromise;
import io.netty.channel.DefaultChannelPromise;
import io.netty.channel.EventLoop;
import io.netty.channel.group.ChannelGroup;
import io.netty.channel.pool.AbstractChannelPoolHandler;
import io.netty.channel.pool.ChannelHealthChecker;
import io.netty.channel.pool.FixedChannelPool;
import io.netty.handler.codec.http.HttpClientCodec;
import io.netty.handler.codec.http.HttpContentDecompressor;
import io.netty.handler.proxy.HttpProxyHandler;
import io.netty.handler.ssl.SslHandler;
import io.netty.resolver.AddressResolver;
import io.netty.resolver.AddressResolverGroup;
import io.netty.resolver.NoopAddressResolverGroup;
import io.netty.util.NetUtil;
import io.netty.util.concurrent.Future;
import io.netty.util.concurrent.FutureListener;
import io.netty.util.concurrent.Promise;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.nio.channels.ClosedChannelException;
import java.util.ArrayDeque;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.RejectedExecutionException;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLParameters;

/**
 * Netty's pool for one origin. The pool, its channels and their calls are confined to one event loop: no locks, no hop
 * between threads.
 */
final class OriginPool extends FixedChannelPool {
    final Target.Origin origin;
    private final EventLoop loop;
    private final ChannelGroup open;
    private final InetSocketAddress remote;
    private final AddressResolverGroup<SocketAddress> resolver;

    /** Exchanges without a channel, in the order of the pool's queue, until the pool connects for them. */
    private final ArrayDeque<Exchange<?>> waiting = new ArrayDeque<>();

    /** Exchanges that are not over. */
    private final Set<Exchange<?>> calls = new HashSet<>();

    /** Netty 4.2 may end a loop without closing its channels, and then nothing else ends their calls. */
    private final FutureListener<Object> loopEnded = ended ->
            List.copyOf(calls).forEach(call -> call.fail(new RejectedExecutionException("the event loop has ended")));

    @SuppressWarnings("unchecked")
    OriginPool(
            Settings settings,
            Target.Origin origin,
            EventLoop loop,
            ChannelFactory<? extends Channel> channels,
            ChannelGroup open,
            OnewriteNetty onewrite) {
        super(
                onewrite.apply(bootstrap(settings, loop, channels)),
                onewrite.wrap(pipeline(settings, origin)),
                channel -> loop.newSucceededFuture(isUsable(channel)),
                settings.queueTimeout > 0 ? AcquireTimeoutAction.FAIL : null,
                settings.queueTimeout > 0 ? Settings.millis(settings.queueTimeout) : -1,
                settings.maxConnections,
                settings.maxPending,
                true,
                true);
        this.origin = origin;
        this.loop = loop;
        this.open = open;
        Proxy proxy = settings.proxy;
        boolean tunnel = proxy != null && origin.tls();
        String host = proxy == null || tunnel ? origin.host() : proxy.host();
        int port = proxy == null || tunnel ? origin.port() : proxy.port();
        this.remote = tunnel || NetUtil.createByteArrayFromIpAddressString(host) == null
                ? InetSocketAddress.createUnresolved(host, port)
                : new InetSocketAddress(host, port);
        this.resolver =
                (AddressResolverGroup<SocketAddress>) (tunnel ? NoopAddressResolverGroup.INSTANCE : settings.resolver);
    }

    EventLoop loop() {
        return loop;
    }

    @Override
    public String toString() {
        return origin.toString();
    }

    /** The {@link ChannelHealthChecker}, called before a channel is used and before it is kept. */
    private static boolean isUsable(Channel channel) {
        if (channel.isActive() && Connection.of(channel).isYoung()) {
            return true;
        }
        channel.close();
        return false;
    }

    @SuppressWarnings("unchecked")
    private static Bootstrap bootstrap(Settings settings, EventLoop loop, ChannelFactory<? extends Channel> channels) {
        Bootstrap bootstrap = new Bootstrap()
                .group(loop)
                .channelFactory((ChannelFactory<Channel>) channels)
                .option(ChannelOption.CONNECT_TIMEOUT_MILLIS, Settings.millis(settings.connectTimeout));
        settings.channelOptions.forEach((option, value) -> bootstrap.option((ChannelOption<Object>) option, value));
        return bootstrap;
    }

    /** Acquires a channel for an exchange. The pool listens to its loop only while it has calls: the loop may outlive it. */
    void acquire(Exchange<?> exchange) {
        if (calls.isEmpty()) {
            loop.terminationFuture().addListener(loopEnded);
        }
        calls.add(exchange);
        Promise<Channel> promise = loop.newPromise();
        waiting.add(exchange);
        acquire(promise);
        if (waiting.peekLast() == exchange && !promise.isDone()) {
            exchange.timing.step(TimedCall::queueStart);
        }
        promise.addListener(acquired -> {
            waiting.remove(exchange);
            exchange.acquired(acquired);
        });
    }

    /** An exchange is over. */
    void left(Exchange<?> exchange) {
        if (calls.remove(exchange) && calls.isEmpty()) {
            loop.terminationFuture().removeListener(loopEnded);
        }
    }

    /**
     * Bootstrap.connect in its steps: DNS is timed, and whatever a resolver throws, or brings, ends the call. The times of
     * the connect are those of the channel.
     */
    @Override
    protected ChannelFuture connectChannel(Bootstrap bootstrap) {
        OnewriteNetty.Call timing = Objects.requireNonNull(waiting.poll()).timing;
        timing.step(TimedCall::queueEnd);
        ChannelFuture registered = bootstrap.register();
        Channel channel = registered.channel();
        ChannelPromise connected = new DefaultChannelPromise(channel, loop);
        then(registered, connected, () -> {
            open.add(channel);
            connected.addListener(ChannelFutureListener.CLOSE_ON_FAILURE);
            channel.closeFuture().addListener(closed -> connected.tryFailure(new ClosedChannelException()));
            AddressResolver<SocketAddress> names = resolver.getResolver(loop);
            if (!names.isResolved(remote)) {
                timing.step((timed, at) -> timed.dnsStart(at, remote.getHostString()));
            }
            Future<SocketAddress> resolved = names.resolve(remote);
            then(resolved, connected, () -> {
                timing.step(TimedCall::dnsEnd);
                timing.step(TimedCall::connectStart);
                channel.connect(Objects.requireNonNull(resolved.getNow(), "the resolver's address"), connected);
            });
        });
        return connected;
    }

    /** Takes the next step on the loop. */
    private void then(Future<?> step, ChannelPromise connected, Runnable next) {
        step.addListener(done -> {
            if (!loop.inEventLoop()) {
                loop.execute(() -> then(step, connected, next));
                return;
            }
            try {
                if (done.isSuccess()) {
                    next.run();
                } else {
                    connected.tryFailure(done.cause());
                }
            } catch (Throwable e) {
                connected.tryFailure(e);
            }
        });
    }

    private static AbstractChannelPoolHandler pipeline(Settings settings, Target.Origin origin) {
        return new AbstractChannelPoolHandler() {
            @Override
            public void channelCreated(Channel channel) throws SSLException {
                ChannelPipeline pipeline = channel.pipeline();
                if (origin.tls() && settings.proxy != null) {
                    pipeline.addLast(tunnel(settings, settings.proxy));
                }
                if (origin.tls()) {
                    pipeline.addLast(tls(settings, origin, channel));
                }
                pipeline.addLast(new HttpClientCodec(4096, 32768, 8192, true));
                if (settings.decompress) {
                    pipeline.addLast(new HttpContentDecompressor(0));
                }
                pipeline.addLast(new Connection(settings));
            }
        };
    }

    /** The proxy's name is resolved by the JDK, as Netty's own resolver does. */
    private static HttpProxyHandler tunnel(Settings settings, Proxy proxy) {
        InetSocketAddress address = new InetSocketAddress(proxy.host(), proxy.port());
        HttpProxyHandler handler = proxy.user() == null || proxy.password() == null
                ? new HttpProxyHandler(address)
                : new HttpProxyHandler(address, proxy.user(), proxy.password());
        handler.setConnectTimeoutMillis(Settings.millis(settings.connectTimeout));
        return handler;
    }

    private static SslHandler tls(Settings settings, Target.Origin origin, Channel channel) throws SSLException {
        SslHandler handler = settings.tls().newHandler(channel.alloc(), origin.host(), origin.port());
        // Netty 4.1 verifies the host name only on request; a context of the caller's may not either.
        SSLParameters parameters = handler.engine().getSSLParameters();
        parameters.setEndpointIdentificationAlgorithm("HTTPS");
        handler.engine().setSSLParameters(parameters);
        handler.setHandshakeTimeoutMillis(Settings.millis(settings.connectTimeout));
        return handler;
    }
}
