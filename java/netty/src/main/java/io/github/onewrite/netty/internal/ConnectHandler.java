package io.github.onewrite.netty.internal;

import io.github.onewrite.Phase;
import io.github.onewrite.internal.TimedCall;
import io.netty.channel.Channel;
import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelOption;
import io.netty.channel.ChannelPromise;
import io.netty.channel.socket.SocketChannel;
import io.netty.handler.proxy.ProxyHandler;
import io.netty.handler.ssl.SslHandler;
import io.netty.util.NetUtil;
import io.netty.util.concurrent.PromiseNotifier;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Next to the socket: reads TCP_NODELAY back before the first byte and sets it once more, and takes the times of name, TCP,
 * the tunnel through a proxy and TLS. The call that the connection is made for gets the steps as they come, where the client
 * shows which call that is; else its first call gets them afterwards. Owned by the channel's loop.
 *
 * <p>Netty sets TCP_NODELAY on every socket but swallows a failure (DefaultSocketChannelConfig), and a channel factory may
 * bring another configuration.
 */
public final class ConnectHandler extends ChannelDuplexHandler {
    static final String NAME = "onewrite.connect";

    private final NettyConnection connection;
    private final Channel channel;

    /** Counts sockets without TCP_NODELAY; null where the option is left as it is. */
    private final @Nullable AtomicLong nodelay;

    private final Function<Channel, @Nullable Exchange> openers;

    /** The name that is looked up before the connect. */
    private final String host;

    /** False for a channel that was open before the handlers were added: its connect has no times. */
    private final boolean known;

    private @Nullable String proxy;
    private @Nullable String peer;

    /** The first bytes go to a proxy. */
    boolean tunnels;

    private boolean secures;

    // Of System.nanoTime; 0 is not yet.
    private long lookup;
    private long started;
    private long ended;
    private long secured;

    /** Until the connection is ready. */
    private @Nullable Exchange first;

    ConnectHandler(
            NettyConnection connection,
            Channel channel,
            String host,
            @Nullable AtomicLong nodelay,
            Function<Channel, @Nullable Exchange> openers) {
        this.connection = connection;
        this.channel = channel;
        this.host = host;
        this.nodelay = nodelay;
        this.openers = openers;
        this.known = !channel.isActive();
    }

    @Override
    public void connect(ChannelHandlerContext ctx, SocketAddress remote, SocketAddress local, ChannelPromise promise) {
        connecting(remote);
        // Another promise: its listener runs before the listeners of the client, which may write.
        ChannelPromise connected = ctx.newPromise().addListener(done -> {
            // A failed connect leaves the phase open: the client may try the next address, or end the attempt.
            if (done.isSuccess()) {
                if (nodelay != null && !ensureNodelay()) {
                    nodelay.incrementAndGet();
                }
                if (!tunnels) {
                    connected();
                }
            }
        });
        PromiseNotifier.cascade(connected, promise);
        ctx.connect(remote, local, connected);
    }

    @Override
    public void channelInactive(ChannelHandlerContext ctx) {
        ctx.fireChannelInactive();
        connection.closed();
    }

    /** Whether the option is on, now or after it was set once more. True for a channel that is no TCP socket. */
    private boolean ensureNodelay() {
        return !(channel instanceof SocketChannel)
                || isNodelay()
                || (channel.config().setOption(ChannelOption.TCP_NODELAY, true) && isNodelay());
    }

    private boolean isNodelay() {
        return Boolean.TRUE.equals(channel.config().getOption(ChannelOption.TCP_NODELAY));
    }

    /**
     * The channel connects through a proxy that is not in its pipeline.
     *
     * @param address {@code host:port}
     */
    public void proxy(String address) {
        proxy = address;
    }

    @Nullable
    String proxy() {
        return proxy;
    }

    /**
     * When the connect began, or 0: the first request is being written. AsyncHttpClient adds TLS to a connection that is made,
     * and writes in its listener of the handshake, which runs before any of ours would.
     */
    long started() {
        if (secured == 0 && !secures && channel.pipeline().get(SslHandler.class) != null) {
            secured = System.nanoTime();
        }
        return started;
    }

    /** The connection is made for this call, which gets the steps as they come. */
    public void madeFor(Exchange exchange) {
        first = exchange;
        exchange.step(this::stamp);
    }

    /**
     * The first request has a call. Its connection may not be ready, where a client does not wait for it.
     *
     * @return whether the call has its connection now; if not, {@link Exchange#connected} follows
     */
    boolean serve(Exchange exchange) {
        exchange.step(this::stamp);
        first = !known || (ended != 0 && (!secures || secured != 0)) ? null : exchange;
        return first == null;
    }

    /** Takes the steps so far; the record ignores those it has. Those of a connection made for another call are not its own. */
    private void stamp(TimedCall timed) {
        timed.proxy(proxy);
        if (lookup != 0 && lookup >= timed.attemptStartedAt()) {
            timed.begin(Phase.DNS, lookup, host);
        }
        if (started == 0 || started < timed.attemptStartedAt()) {
            return;
        }
        // The resolver may report on another event loop, after its result is used.
        timed.end(Phase.DNS, started);
        timed.begin(Phase.CONNECT, started, peer);
        if (ended != 0) {
            timed.end(Phase.CONNECT, ended);
            if (secures || secured != 0) {
                timed.begin(Phase.TLS, ended);
            }
            if (secured != 0) {
                timed.end(Phase.TLS, secured);
            }
        }
    }

    /** The call that the connection is made for, or null. A retry begins its next attempt here. */
    private @Nullable Exchange maker() {
        Exchange maker = first == null ? openers.apply(channel) : first;
        if (maker != null) {
            maker.ownedBy(channel.eventLoop());
        }
        return maker;
    }

    private void stamp(@Nullable Exchange maker) {
        if (maker != null) {
            maker.step(this::stamp);
        }
    }

    /** The client resolves the name that this was attached with. */
    public void resolving() {
        Exchange maker = maker();
        lookup = System.nanoTime();
        stamp(maker);
    }

    /** @param remote is the peer, unless a proxy handler connects elsewhere: it may stand above or below ours */
    private void connecting(SocketAddress remote) {
        SocketAddress to = remote;
        for (Map.Entry<String, ChannelHandler> each : channel.pipeline()) {
            if (isProxy(each.getValue().getClass())) {
                to = Tunnel.through(each.getValue(), this);
                break;
            }
        }
        if (to instanceof InetSocketAddress address && address.isUnresolved()) {
            stamp(maker()); // Its lookup has failed, so the transport will refuse it.
            return;
        }
        Exchange maker = maker();
        started = System.nanoTime();
        peer = to instanceof InetSocketAddress address ? NetUtil.toSocketAddressString(address) : to.toString();
        stamp(maker);
    }

    /** By name: Netty's proxy handlers are an optional dependency. */
    private static boolean isProxy(Class<?> handler) {
        for (Class<?> each = handler; each != null; each = each.getSuperclass()) {
            if (each.getName().equals("io.netty.handler.proxy.ProxyHandler")) {
                return true;
            }
        }
        return false;
    }

    /** A proxy handler of Netty is part of the connect. Loaded only where a pipeline has such a handler. */
    private static final class Tunnel {
        /** Returns the address of the proxy. */
        static SocketAddress through(ChannelHandler handler, ConnectHandler connect) {
            ProxyHandler proxy = (ProxyHandler) handler;
            if (connect.proxy == null && proxy.proxyAddress() instanceof InetSocketAddress address) {
                connect.proxy = NettySetup.hostAndPort(address.getHostString(), address.getPort());
            }
            if (!connect.tunnels) {
                connect.tunnels = true;
                proxy.connectFuture().addListener(done -> {
                    if (done.isSuccess()) {
                        connect.connected();
                    }
                });
            }
            return proxy.proxyAddress();
        }
    }

    /** TCP is connected, and the tunnel is open if there is one. */
    void connected() {
        tunnels = false;
        ended = System.nanoTime();
        SslHandler tls = channel.pipeline().get(SslHandler.class);
        secures = tls != null;
        stamp(maker());
        if (tls == null) {
            ready();
            return;
        }
        // A failed handshake leaves the phase open: the error that follows ends it, with tls as its phase.
        tls.handshakeFuture().addListener(done -> {
            if (done.isSuccess()) {
                secured = System.nanoTime();
                stamp(maker());
                ready();
            }
        });
    }

    /** The proxy's answer is not HTTP. */
    void failed(Throwable why) {
        if (first != null) {
            first.failed(why, NettyErrors::kindOf);
        }
    }

    private void ready() {
        Exchange waits = first;
        first = null;
        if (waits != null) {
            waits.connected();
        }
    }
}
