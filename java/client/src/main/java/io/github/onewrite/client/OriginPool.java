package io.github.onewrite.client;

import io.github.onewrite.TimedCall;
import io.github.onewrite.netty.OnewriteNetty;
import io.netty.bootstrap.Bootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFactory;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelOption;
import io.netty.channel.ChannelPipeline;
import io.netty.channel.ChannelPromise;
import io.netty.channel.DefaultChannelPromise;
import io.netty.channel.EventLoop;
import io.netty.channel.group.ChannelGroup;
import io.netty.channel.pool.AbstractChannelPoolHandler;
import io.netty.channel.pool.ChannelHealthChecker;
import io.netty.channel.pool.FixedChannelPool;
import io.netty.channel.socket.SocketChannel;
import io.netty.handler.codec.http.HttpClientCodec;
import io.netty.handler.codec.http.HttpContentDecompressor;
import io.netty.handler.proxy.HttpProxyHandler;
import io.netty.handler.ssl.SslHandler;
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
import java.util.Objects;
import java.util.concurrent.RejectedExecutionException;
import javax.net.ssl.SSLParameters;
import org.jspecify.annotations.Nullable;

/**
 * Netty's pool for one origin. The pool, its channels and their calls are confined to one event loop: no locks, no hop
 * between threads. A channel is acquired when its tunnel and its TLS handshake are complete.
 */
final class OriginPool extends FixedChannelPool {
    private final EventLoop loop;
    private final ChannelGroup open;
    private final InetSocketAddress remote;
    private final AddressResolverGroup<SocketAddress> resolver;
    private final boolean named;

    /** The exchange that acquires now, until the pool connects for it. */
    private @Nullable Exchange acquiring;

    /** Exchanges that wait for a connection, in the order of the pool's queue. */
    private final ArrayDeque<Exchange> waiting = new ArrayDeque<>();

    /** The first of the exchanges that are not over, which are linked. */
    private @Nullable Exchange calls;

    /** Netty 4.2 may end a loop without closing its channels, and then nothing else ends their calls. */
    private final FutureListener<Object> loopEnded = ended -> {
        while (calls != null) {
            calls.fail(new RejectedExecutionException("the event loop has ended"));
        }
    };

    @SuppressWarnings("unchecked")
    OriginPool(
            Settings settings,
            Target.Origin origin,
            EventLoop loop,
            ChannelFactory<? extends SocketChannel> channels,
            ChannelGroup open,
            OnewriteNetty onewrite) {
        super(
                bootstrap(settings, loop, channels, onewrite),
                onewrite.wrap(new Pipeline(settings, origin)),
                channel -> loop.newSucceededFuture(isUsable(channel)),
                settings.queueTimeout > 0 ? AcquireTimeoutAction.FAIL : null,
                settings.queueTimeout > 0 ? Settings.millis(settings.queueTimeout) : -1,
                settings.maxConnections,
                settings.maxPending,
                true,
                true);
        this.loop = loop;
        this.open = open;
        Proxy proxy = settings.proxy;
        boolean tunnel = proxy != null && origin.tls();
        this.remote = proxy == null || tunnel
                ? InetSocketAddress.createUnresolved(origin.host(), origin.port())
                : InetSocketAddress.createUnresolved(proxy.host(), proxy.port());
        this.resolver =
                (AddressResolverGroup<SocketAddress>) (tunnel ? NoopAddressResolverGroup.INSTANCE : settings.resolver);
        this.named = !tunnel && NetUtil.createByteArrayFromIpAddressString(remote.getHostString()) == null;
    }

    EventLoop loop() {
        return loop;
    }

    /**
     * Closes idle channels and the pool.
     *
     * @throws RejectedExecutionException when the loop is shut down
     */
    void shutDown() {
        if (!loop.inEventLoop()) {
            loop.execute(this::shutDown);
            return;
        }
        for (Channel idle = pollChannel(); idle != null; idle = pollChannel()) {
            idle.close();
        }
        closeAsync();
    }

    /**
     * Nothing on other threads: Netty's close of a pool waits for idle channels on its global executor, for ever when the
     * loop ends meanwhile. Then no event loop of the process reports that it has ended.
     */
    @Override
    protected @Nullable Channel pollChannel() {
        return loop.inEventLoop() ? super.pollChannel() : null;
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
    private static Bootstrap bootstrap(
            Settings settings,
            EventLoop loop,
            ChannelFactory<? extends SocketChannel> channels,
            OnewriteNetty onewrite) {
        Bootstrap bootstrap = new Bootstrap()
                .group(loop)
                .channelFactory((ChannelFactory<Channel>) (ChannelFactory<?>) channels)
                .option(ChannelOption.CONNECT_TIMEOUT_MILLIS, Settings.millis(settings.connectTimeout));
        settings.channelOptions.forEach((option, value) -> bootstrap.option((ChannelOption<Object>) option, value));
        return onewrite.apply(bootstrap);
    }

    /** An exchange is over. */
    void left(Exchange exchange) {
        Exchange before = exchange.previous;
        Exchange after = exchange.next;
        if (before != null) {
            before.next = after;
        } else if (exchange == calls) {
            calls = after;
        } else {
            return; // it did not begin to acquire
        }
        if (after != null) {
            after.previous = before;
        }
        exchange.previous = null; // a caller may keep a response, and with it its exchange
        exchange.next = null;
        if (calls == null) {
            loop.terminationFuture().removeListener(loopEnded);
        }
    }

    /** Acquires a channel for an exchange. The pool listens to its loop only while it has calls: the loop may outlive it. */
    void acquire(Exchange exchange) {
        if (calls == null) {
            loop.terminationFuture().addListener(loopEnded);
        } else {
            exchange.next = calls;
            calls.previous = exchange;
        }
        calls = exchange;
        Promise<Channel> promise = loop.newPromise();
        acquiring = exchange;
        acquire(promise);
        if (acquiring != null && !promise.isDone()) {
            waiting.add(exchange);
            exchange.timing().step(TimedCall::queueStart);
        }
        acquiring = null;
        promise.addListener(acquired -> {
            waiting.remove(exchange);
            exchange.acquired(acquired);
        });
    }

    /**
     * Bootstrap.connect in its steps, which are timed. Complete when the channel can take a request. A resolver that
     * brings null, or a loop that is shut down meanwhile, ends the call, too.
     */
    @Override
    protected ChannelFuture connectChannel(Bootstrap bootstrap) {
        Exchange exchange = Objects.requireNonNull(acquiring != null ? acquiring : waiting.poll());
        acquiring = null;
        OnewriteNetty.Call timing = exchange.timing();
        timing.step(TimedCall::queueEnd);
        ChannelFuture registered = bootstrap.register();
        Channel channel = registered.channel();
        ChannelPromise ready = new DefaultChannelPromise(channel, loop);
        then(registered, ready, () -> {
            open.add(channel);
            Connection.of(channel).connecting(ready);
            if (named) {
                timing.step((timed, at) -> timed.dnsStart(at, remote.getHostString()));
            }
            Future<SocketAddress> resolved = resolver.getResolver(loop).resolve(remote);
            channel.closeFuture().addListener(closed -> {
                if (!resolved.isDone()) {
                    ready.tryFailure(new ClosedChannelException());
                }
            });
            then(resolved, ready, () -> {
                timing.step(TimedCall::dnsEnd);
                timing.step(TimedCall::connectStart);
                SocketAddress address = Objects.requireNonNull(resolved.getNow(), "the resolver's address");
                ChannelFuture connected = channel.connect(address);
                then(connected, ready, () -> {
                    HttpProxyHandler tunnel = channel.pipeline().get(HttpProxyHandler.class);
                    then(tunnel == null ? connected : tunnel.connectFuture(), ready, () -> {
                        timing.step(TimedCall::connectEnd);
                        secure(channel, ready, timing);
                    });
                });
            });
        });
        return ready;
    }

    private void secure(Channel channel, ChannelPromise ready, OnewriteNetty.Call timing) {
        SslHandler tls = channel.pipeline().get(SslHandler.class);
        if (tls == null) {
            ready.trySuccess();
            return;
        }
        timing.step(TimedCall::tlsStart);
        then(tls.handshakeFuture(), ready, () -> {
            timing.step(TimedCall::tlsEnd);
            ready.trySuccess();
        });
    }

    /** Takes the next step on the loop. What a resolver or a channel throws there fails the call. */
    private void then(Future<?> step, ChannelPromise ready, Runnable next) {
        step.addListener(done -> {
            if (!loop.inEventLoop()) {
                loop.execute(() -> then(step, ready, next));
                return;
            }
            Throwable cause = done.cause();
            if (done.isSuccess()) {
                try {
                    next.run();
                    return;
                } catch (Throwable e) {
                    cause = e;
                }
            }
            if (ready.channel().isRegistered()) {
                ready.channel().close();
            }
            ready.tryFailure(Objects.requireNonNull(cause));
        });
    }

    /** Makes the pipeline of a new channel. */
    private static final class Pipeline extends AbstractChannelPoolHandler {
        private final Settings settings;
        private final Target.Origin origin;

        Pipeline(Settings settings, Target.Origin origin) {
            this.settings = settings;
            this.origin = origin;
        }

        @Override
        public void channelCreated(Channel channel) {
            ChannelPipeline pipeline = channel.pipeline();
            if (settings.proxy != null && origin.tls()) {
                pipeline.addLast(tunnel(settings.proxy));
            }
            if (origin.tls()) {
                pipeline.addLast(tls(channel));
            }
            pipeline.addLast(new HttpClientCodec(4096, 32768, 8192, true));
            if (settings.decompress) {
                pipeline.addLast(new HttpContentDecompressor(0));
            }
            pipeline.addLast(new Connection(channel, settings));
        }

        /** The proxy's name is resolved by the JDK, as Netty's own resolver does. */
        private HttpProxyHandler tunnel(Proxy proxy) {
            InetSocketAddress address = new InetSocketAddress(proxy.host(), proxy.port());
            HttpProxyHandler handler = proxy.user() == null || proxy.password() == null
                    ? new HttpProxyHandler(address)
                    : new HttpProxyHandler(address, proxy.user(), proxy.password());
            handler.setConnectTimeoutMillis(Settings.millis(settings.connectTimeout));
            return handler;
        }

        private SslHandler tls(Channel channel) {
            SslHandler handler = settings.tls().newHandler(channel.alloc(), origin.host(), origin.port());
            // Netty 4.1 verifies the host name only on request; a context of the caller's may not either.
            SSLParameters parameters = handler.engine().getSSLParameters();
            parameters.setEndpointIdentificationAlgorithm("HTTPS");
            handler.engine().setSSLParameters(parameters);
            handler.setHandshakeTimeoutMillis(Settings.millis(settings.connectTimeout));
            return handler;
        }
    }
}
