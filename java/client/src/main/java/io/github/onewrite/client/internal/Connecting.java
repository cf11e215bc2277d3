package io.github.onewrite.client.internal;

import io.github.onewrite.ErrorKind;
import io.github.onewrite.OnewriteException;
import io.github.onewrite.Phase;
import io.github.onewrite.client.Proxy;
import io.github.onewrite.netty.NettyConnection;
import io.github.onewrite.netty.OnewriteNetty;
import io.github.onewrite.ErrorKinds;
import io.netty.bootstrap.Bootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFactory;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.ConnectTimeoutException;
import io.netty.channel.EventLoop;
import io.netty.handler.proxy.HttpProxyHandler;
import io.netty.handler.ssl.SslHandler;
import io.netty.resolver.NoopAddressResolverGroup;
import io.netty.util.NetUtil;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.util.List;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.SSLParameters;
import org.jspecify.annotations.Nullable;

/** Opens one connection for a call: DNS, TCP, tunnel, TLS, pipeline; all within one time limit. */
final class Connecting {
    /** The least time for an address: a lost SYN is sent again after 1 s, and may then succeed. */
    private static final long FAIR_NANOS = TimeUnit.SECONDS.toNanos(2);

    private final ClientSettings settings;
    private final Origin origin;
    private final EventLoop loop;
    private final ChannelFactory<?> channels;
    private final OnewriteNetty.Call timing;
    private final OriginPool pool;

    /** Null when the call was cancelled: the connection then goes to the next waiter. */
    private @Nullable Call owner;

    private Phase stage = Phase.CONNECT;

    /** Read by the lookup's thread, too: a lookup that waits for a thread may be of no use any more. */
    private volatile boolean over;

    private @Nullable Channel channel;
    private java.util.concurrent.@Nullable Future<?> limit;
    private java.util.concurrent.@Nullable Future<?> share;
    private long deadline;

    Connecting(OriginPool pool, ChannelFactory<?> channels, Call owner) {
        this.settings = pool.settings();
        this.origin = pool.origin();
        this.loop = pool.loop();
        this.channels = channels;
        this.timing = owner.timing();
        this.pool = pool;
        this.owner = owner;
    }

    /** The call that waits for this connection. */
    @Nullable
    Call owner() {
        return owner;
    }

    void abandonedBy(Call call) {
        if (owner == call) {
            owner = null;
        }
    }

    /** The phase under way, for the error. */
    Phase stage() {
        return stage;
    }

    void start() {
        long budget = settings.connectTimeout();
        if (budget > 0) {
            deadline = settings.time().nanoTime() + budget;
            limit = settings.time().after(budget, loop, this::overdue);
        }
        Proxy proxy = settings.proxy();
        resolve(proxy == null ? origin.host() : proxy.host(), proxy == null ? origin.port() : proxy.port());
    }

    void abort() {
        fail(new OnewriteException(ErrorKind.POOL, "the client was closed while a connection was made"));
    }

    private void resolve(String host, int port) {
        byte[] literal = NetUtil.createByteArrayFromIpAddressString(host);
        if (literal != null) {
            try {
                connect(List.of(InetAddress.getByAddress(host, literal)), port);
            } catch (UnknownHostException e) {
                throw new AssertionError("an address of " + literal.length + " bytes", e);
            }
            return;
        }
        stage = Phase.DNS;
        timing.dnsStart(host);
        try {
            settings.lookups().run(() -> lookUp(host, port));
        } catch (RejectedExecutionException e) {
            fail(new OnewriteException(ErrorKind.POOL, "the client is closed", e));
        }
    }

    private void lookUp(String host, int port) {
        if (over) {
            return;
        }
        try {
            List<InetAddress> found = settings.lookups().addresses(host);
            afterLookup(() -> resolved(found, port));
        } catch (UnknownHostException | RuntimeException e) {
            afterLookup(() -> unresolved(host, e));
        }
    }

    /** A loop that was shut down runs no tasks, not even timeouts: without this the calls would never end. */
    private void afterLookup(Runnable step) {
        if (!OnLoop.ifItRuns(loop, step)) {
            pool.loopIsGone();
        }
    }

    private void resolved(List<InetAddress> found, int port) {
        timing.dnsEnd();
        if (!over) {
            connect(found, port);
        }
    }

    private void unresolved(String host, Exception cause) {
        fail(new OnewriteException(ErrorKind.DNS, host + " does not resolve: " + ErrorKinds.text(cause), cause));
    }

    private void connect(List<InetAddress> addresses, int port) {
        stage = Phase.CONNECT;
        timing.connectStart();
        tryAddress(addresses, 0, port);
    }

    private void tryAddress(List<InetAddress> addresses, int index, int port) {
        InetSocketAddress address = new InetSocketAddress(addresses.get(index), port);
        HttpProxyHandler tunnel = tunnel(address);
        ChannelFuture connected = bootstrap(tunnel)
                .connect(tunnel == null ? address : InetSocketAddress.createUnresolved(origin.host(), origin.port()));
        channel = connected.channel();
        int others = addresses.size() - index - 1;
        if (others > 0 && settings.connectTimeout() > 0) {
            // Closing the channel fails its connect, whose listener goes on with the next address.
            share = settings.time().after(share(others), loop, connected.channel()::close);
        }
        connected.addListener(done -> {
            if (share != null) {
                share.cancel(false);
                share = null;
            }
            if (over) {
                connected.channel().close();
            } else if (done.isSuccess()) {
                connected(connected.channel(), tunnel);
            } else if (index + 1 < addresses.size()) {
                tryAddress(addresses, index + 1, port);
            } else {
                fail(connectError(done.cause()));
            }
        });
    }

    /**
     * What one address may take while others are left: an equal part of the time left, but {@link #FAIR_NANOS} at least
     * where there is as much. So does Go's net.Dialer (partialDeadline).
     */
    private long share(int others) {
        long left = deadline - settings.time().nanoTime();
        return Math.max(left / (others + 1), Math.min(left, FAIR_NANOS));
    }

    @SuppressWarnings("unchecked")
    private Bootstrap bootstrap(@Nullable HttpProxyHandler tunnel) {
        Bootstrap bootstrap = new Bootstrap()
                .group(loop)
                .channelFactory((ChannelFactory<Channel>) channels)
                .resolver(NoopAddressResolverGroup.INSTANCE)
                // A failed write must not discard a response that explains it, such as a 413.
                .option(ChannelOption.AUTO_CLOSE, false)
                .handler(new ChannelInitializer<Channel>() {
                    @Override
                    protected void initChannel(Channel made) {
                        NettyConnection.attach(made, null, null, any -> null, NettyConnection.Ends.BY_CLIENT);
                        if (tunnel != null) {
                            made.pipeline().addLast(tunnel);
                        }
                        made.pipeline().addLast(new Silence());
                    }
                });
        if (settings.config().guardsNodelay()) {
            bootstrap.option(ChannelOption.TCP_NODELAY, true);
        }
        if (settings.connectTimeout() > 0) {
            long millis = TimeUnit.NANOSECONDS.toMillis(settings.connectTimeout());
            bootstrap.option(ChannelOption.CONNECT_TIMEOUT_MILLIS, (int) Math.min(millis + 1, Integer.MAX_VALUE));
        }
        settings.channelOptions().forEach((option, value) -> bootstrap.option((ChannelOption<Object>) option, value));
        return bootstrap;
    }

    private @Nullable HttpProxyHandler tunnel(InetSocketAddress address) {
        Proxy proxy = settings.proxy();
        if (proxy == null || !origin.tls()) {
            return null;
        }
        String user = proxy.user();
        String password = proxy.password();
        HttpProxyHandler handler = user == null || password == null
                ? new HttpProxyHandler(address)
                : new HttpProxyHandler(address, user, password);
        handler.setConnectTimeoutMillis(0);
        return handler;
    }

    private void connected(Channel made, @Nullable HttpProxyHandler tunnel) {
        if (tunnel == null) {
            established(made);
            return;
        }
        tunnel.connectFuture().addListener(done -> {
            if (over) {
                made.close();
            } else if (done.isSuccess()) {
                established(made);
            } else {
                fail(new OnewriteException(
                        ErrorKind.CONNECT,
                        "the proxy " + settings.proxy() + " opened no tunnel to " + origin + ": "
                                + ErrorKinds.text(done.cause()),
                        done.cause()));
            }
        });
    }

    private void established(Channel made) {
        timing.connectEnd();
        if (!origin.tls()) {
            finish(made);
            return;
        }
        stage = Phase.TLS;
        timing.tlsStart();
        SslHandler handler;
        try {
            handler = settings.tls().get().newHandler(made.alloc(), origin.host(), origin.port());
        } catch (OnewriteException e) {
            fail(e);
            return;
        }
        // Netty 4.1 checks the host name only on request; a context of the caller's may not check it either.
        SSLParameters parameters = handler.engine().getSSLParameters();
        parameters.setEndpointIdentificationAlgorithm("HTTPS");
        handler.engine().setSSLParameters(parameters);
        handler.setHandshakeTimeoutMillis(0);
        made.pipeline().addBefore(made.pipeline().context(Silence.class).name(), null, handler);
        handler.handshakeFuture().addListener(done -> {
            if (over) {
                made.close();
            } else if (done.isSuccess()) {
                timing.tlsEnd();
                finish(made);
            } else {
                fail(new OnewriteException(
                        ErrorKind.TLS, "no TLS with " + origin + ": " + ErrorKinds.text(done.cause()), done.cause()));
            }
        });
    }

    private void finish(Channel made) {
        over = true;
        stopClock();
        made.pipeline().remove(Silence.class);
        pool.connected(this, made);
    }

    private void overdue() {
        limit = null;
        fail(new OnewriteException(
                ErrorKind.TIMEOUT,
                "no connection to " + origin + " in " + TimeUnit.NANOSECONDS.toMillis(settings.connectTimeout())
                        + " ms (connectTimeout)"));
    }

    private OnewriteException connectError(Throwable cause) {
        if (cause instanceof OnewriteException refused) {
            return refused;
        }
        ErrorKind kind = cause instanceof ConnectTimeoutException ? ErrorKind.TIMEOUT : ErrorKind.CONNECT;
        return new OnewriteException(kind, "no connection to " + origin + ": " + ErrorKinds.text(cause), cause);
    }

    private void fail(OnewriteException why) {
        if (over) {
            return;
        }
        over = true;
        stopClock();
        if (channel != null) {
            channel.close();
        }
        pool.failed(this, why.in(stage));
    }

    private void stopClock() {
        if (limit != null) {
            limit.cancel(false);
        }
        if (share != null) {
            share.cancel(false);
        }
    }

    /** Ends the pipeline while the connection is opened: errors are reported by the futures, and not logged. */
    private static final class Silence extends ChannelInboundHandlerAdapter {
        @Override
        public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
            ctx.close();
        }
    }
}
