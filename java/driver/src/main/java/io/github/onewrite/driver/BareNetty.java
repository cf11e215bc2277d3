package io.github.onewrite.driver;

import io.netty.bootstrap.Bootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.pool.AbstractChannelPoolHandler;
import io.netty.channel.pool.ChannelHealthChecker;
import io.netty.channel.pool.FixedChannelPool;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.netty.handler.codec.http.HttpClientCodec;
import io.netty.handler.proxy.HttpProxyHandler;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import io.netty.handler.stream.ChunkedWriteHandler;
import io.netty.util.concurrent.Future;
import java.net.InetSocketAddress;
import java.net.URI;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.SSLException;

/** Netty as applications use it: HttpClientCodec, its FixedChannelPool, one flush per full request. */
final class BareNetty implements Client {
    static final List<String> CAPABILITIES = Bodies.allWith(
            "cancel",
            "proxy_forward",
            "proxy_connect",
            "socket_options",
            "custom_connector",
            "concurrency",
            "load",
            "serve");

    private final Options options;
    private final boolean control;
    private final EventLoopGroup group = new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
    private final Map<String, FixedChannelPool> pools = new ConcurrentHashMap<>();

    /** @param control Nagle on, and head and body each flushed by itself */
    BareNetty(Options options, boolean control) {
        this.options = options;
        this.control = control;
    }

    @Override
    public CompletableFuture<Reply> send(Call call) {
        BareExchange exchange = new BareExchange(call, options, control);
        FixedChannelPool pool;
        try {
            pool = pools.computeIfAbsent(originOf(call.uri()), origin -> open(call.uri()));
        } catch (IllegalArgumentException e) {
            return CompletableFuture.completedFuture(new Reply(call).failed(e, Errors.kind(e), null));
        }
        exchange.startLimits(group.next());
        pool.acquire().addListener((Future<Channel> acquired) -> {
            if (acquired.isSuccess()) {
                exchange.run(acquired.getNow(), pool);
            } else {
                exchange.fail(acquired.cause());
            }
        });
        return exchange.reply();
    }

    private static String originOf(URI uri) {
        return uri.getScheme() + "://" + uri.getHost() + ":" + portOf(uri);
    }

    private static int portOf(URI uri) {
        return uri.getPort() >= 0 ? uri.getPort() : uri.getScheme().equals("https") ? 443 : 80;
    }

    private FixedChannelPool open(URI uri) {
        boolean tls = uri.getScheme().equals("https");
        SslContext context = tls ? sslContext() : null;
        Bootstrap bootstrap = new Bootstrap()
                .group(group)
                .channel(NioSocketChannel.class)
                .remoteAddress(
                        options.proxy() != null && !tls
                                ? options.proxy()
                                : InetSocketAddress.createUnresolved(uri.getHost(), portOf(uri)));
        if (control) {
            bootstrap.option(ChannelOption.TCP_NODELAY, false);
        }
        if (options.connectTimeoutMs() > 0) {
            bootstrap.option(ChannelOption.CONNECT_TIMEOUT_MILLIS, options.connectTimeoutMs());
        }
        SocketOptions.apply(options.socketOptions(), bootstrap::option);
        return new FixedChannelPool(
                bootstrap,
                new AbstractChannelPoolHandler() {
                    @Override
                    public void channelCreated(Channel channel) {
                        if (tls && options.proxy() != null) {
                            channel.pipeline().addLast(new HttpProxyHandler(options.proxy()));
                        }
                        if (context != null) {
                            channel.pipeline().addLast(context.newHandler(channel.alloc(), uri.getHost(), portOf(uri)));
                        }
                        channel.pipeline()
                                .addLast(
                                        new HttpClientCodec(4096, 8192, 8192, true),
                                        new ChunkedWriteHandler(),
                                        new BareExchange.Inbound());
                    }
                },
                ChannelHealthChecker.ACTIVE,
                FixedChannelPool.AcquireTimeoutAction.FAIL,
                options.poolTimeoutMs() > 0 ? options.poolTimeoutMs() : TimeUnit.MINUTES.toMillis(1),
                options.poolSize(),
                Integer.MAX_VALUE);
    }

    private SslContext sslContext() {
        try {
            SslContextBuilder builder = SslContextBuilder.forClient().endpointIdentificationAlgorithm("HTTPS");
            if (options.tlsCa() != null) {
                builder.trustManager(options.tlsCa().toFile());
            }
            return builder.build();
        } catch (SSLException e) {
            throw new IllegalStateException("no TLS context from " + options.tlsCa(), e);
        }
    }

    @Override
    public void close() {
        pools.values().forEach(FixedChannelPool::close);
        group.shutdownGracefully(0, 1, TimeUnit.SECONDS);
    }
}
