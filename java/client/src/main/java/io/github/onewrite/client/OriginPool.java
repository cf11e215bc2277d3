package io.github.onewrite.client;

import io.github.onewrite.netty.OnewriteNetty;
import io.netty.bootstrap.Bootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFactory;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelOption;
import io.netty.channel.ChannelOutboundHandlerAdapter;
import io.netty.channel.ChannelPipeline;
import io.netty.channel.ChannelPromise;
import io.netty.channel.DefaultChannelPromise;
import io.netty.channel.EventLoop;
import io.netty.channel.pool.AbstractChannelPoolHandler;
import io.netty.channel.pool.ChannelHealthChecker;
import io.netty.channel.pool.FixedChannelPool;
import io.netty.handler.codec.http.HttpClientCodec;
import io.netty.handler.codec.http.HttpContentDecompressor;
import io.netty.handler.proxy.HttpProxyHandler;
import io.netty.handler.ssl.SslHandler;
import io.netty.resolver.NoopAddressResolverGroup;
import io.netty.util.AttributeKey;
import io.netty.util.NetUtil;
import io.netty.util.concurrent.Future;
import io.netty.util.concurrent.Promise;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.util.ArrayDeque;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.SSLParameters;
import org.jspecify.annotations.Nullable;

/**
 * Netty's pool for one origin. The pool, its channels and their calls are confined to one event loop: no locks, no hop
 * between threads. A channel is acquired when its tunnel and its TLS handshake are complete.
 */
final class OriginPool extends FixedChannelPool {
    /** On a channel that is being connected: the call that it is opened for. */
    private static final AttributeKey<OnewriteNetty.Call> OPENER = AttributeKey.valueOf(OriginPool.class, "opener");

    private static final int MAX_HEADER_BYTES = 32 * 1024;

    private final EventLoop loop;
    private final boolean named;

    /** The exchange that acquires now, until the pool connects for it. */
    private @Nullable Exchange acquiring;

    /** Exchanges that wait for a connection, in the order of the pool's queue. */
    private final ArrayDeque<Exchange> waiting = new ArrayDeque<>();

    OriginPool(Settings settings, Target.Origin origin, EventLoop loop, OnewriteNetty onewrite) {
        super(
                bootstrap(settings, origin, loop, onewrite),
                onewrite.wrap(new Pipeline(settings, origin)),
                channel -> loop.newSucceededFuture(isUsable(channel)),
                settings.queueTimeout() > 0 ? AcquireTimeoutAction.FAIL : null,
                settings.queueTimeout() > 0 ? Math.max(TimeUnit.NANOSECONDS.toMillis(settings.queueTimeout()), 1) : -1,
                settings.maxConnections(),
                settings.maxPending(),
                true,
                true);
        this.loop = loop;
        this.named = NetUtil.createByteArrayFromIpAddressString(origin.host()) == null
                && !(settings.proxy() != null && origin.tls());
    }

    EventLoop loop() {
        return loop;
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
            Settings settings, Target.Origin origin, EventLoop loop, OnewriteNetty onewrite) {
        Proxy proxy = settings.proxy();
        Bootstrap bootstrap = new Bootstrap()
                .group(loop)
                .channelFactory((ChannelFactory<Channel>)
                        (ChannelFactory<?>) settings.transport().channels())
                .option(ChannelOption.CONNECT_TIMEOUT_MILLIS, settings.connectTimeoutMillis());
        if (proxy != null && origin.tls()) {
            bootstrap.resolver(NoopAddressResolverGroup.INSTANCE);
        } else if (settings.resolver() != null) {
            bootstrap.resolver(settings.resolver());
        }
        if (proxy != null && !origin.tls()) {
            bootstrap.remoteAddress(InetSocketAddress.createUnresolved(proxy.host(), proxy.port()));
        } else {
            bootstrap.remoteAddress(InetSocketAddress.createUnresolved(origin.host(), origin.port()));
        }
        settings.channelOptions().forEach((option, value) -> bootstrap.option((ChannelOption<Object>) option, value));
        return onewrite.apply(bootstrap);
    }

    /** Acquires a channel for an exchange. */
    void acquire(Exchange exchange) {
        Promise<Channel> promise = loop.newPromise();
        acquiring = exchange;
        acquire(promise);
        if (acquiring != null && !promise.isDone()) {
            waiting.add(exchange);
            exchange.queued();
        }
        acquiring = null;
        promise.addListener(exchange::acquired);
    }

    void noLongerWaits(Exchange exchange) {
        waiting.remove(exchange);
    }

    /** Reports DNS, connect and TLS as they happen, and is complete when the channel can take a request. */
    @Override
    protected ChannelFuture connectChannel(Bootstrap bootstrap) {
        Exchange exchange = Objects.requireNonNull(acquiring != null ? acquiring : waiting.poll());
        acquiring = null;
        OnewriteNetty.Call timing = exchange.connecting();
        bootstrap.attr(OPENER, timing);
        if (named && bootstrap.config().remoteAddress() instanceof InetSocketAddress remote) {
            timing.dnsStart(remote.getHostString());
        }
        ChannelFuture connected = bootstrap.connect();
        ChannelPromise ready = new DefaultChannelPromise(connected.channel(), loop);
        then(connected, ready, () -> tunnel(connected.channel(), ready, timing));
        return ready;
    }

    private static void tunnel(Channel channel, ChannelPromise ready, OnewriteNetty.Call timing) {
        HttpProxyHandler tunnel = channel.pipeline().get(HttpProxyHandler.class);
        Future<Channel> open =
                tunnel == null ? channel.eventLoop().newSucceededFuture(channel) : tunnel.connectFuture();
        then(open, ready, () -> {
            timing.connectEnd();
            secure(channel, ready, timing);
        });
    }

    private static void secure(Channel channel, ChannelPromise ready, OnewriteNetty.Call timing) {
        SslHandler tls = channel.pipeline().get(SslHandler.class);
        if (tls == null) {
            ready.setSuccess();
            return;
        }
        timing.tlsStart();
        then(tls.handshakeFuture(), ready, () -> {
            timing.tlsEnd();
            ready.setSuccess();
        });
    }

    private static void then(Future<?> step, ChannelPromise ready, Runnable next) {
        step.addListener(done -> {
            if (done.isSuccess()) {
                next.run();
                return;
            }
            if (ready.channel().isRegistered()) {
                ready.channel().close();
            }
            ready.tryFailure(done.cause());
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
        public void channelCreated(Channel channel) throws Exception {
            ChannelPipeline pipeline = channel.pipeline();
            OnewriteNetty.Call timing = channel.attr(OPENER).getAndSet(null);
            if (timing != null) {
                pipeline.addLast(new ConnectStart(timing));
            }
            if (settings.proxy() != null && origin.tls()) {
                pipeline.addLast(tunnel(settings.proxy()));
            }
            if (origin.tls()) {
                pipeline.addLast(tls(channel));
            }
            pipeline.addLast(new HttpClientCodec(4096, MAX_HEADER_BYTES, 8192, true));
            if (settings.decompress()) {
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
            handler.setConnectTimeoutMillis(settings.connectTimeoutMillis());
            return handler;
        }

        private SslHandler tls(Channel channel) throws Exception {
            SslHandler handler = settings.tls().call().newHandler(channel.alloc(), origin.host(), origin.port());
            // Netty 4.1 verifies the host name only on request; a context of the caller's may not either.
            SSLParameters parameters = handler.engine().getSSLParameters();
            parameters.setEndpointIdentificationAlgorithm("HTTPS");
            handler.engine().setSSLParameters(parameters);
            handler.setHandshakeTimeoutMillis(settings.connectTimeoutMillis());
            return handler;
        }
    }

    /** Reports that the name is resolved and the TCP connect begins. */
    private static final class ConnectStart extends ChannelOutboundHandlerAdapter {
        private final OnewriteNetty.Call timing;

        ConnectStart(OnewriteNetty.Call timing) {
            this.timing = timing;
        }

        @Override
        public void connect(
                ChannelHandlerContext ctx, SocketAddress remote, SocketAddress local, ChannelPromise promise) {
            timing.dnsEnd();
            timing.connectStart();
            ctx.connect(remote, local, promise);
            ctx.pipeline().remove(this);
        }
    }
}
