package io.github.onewrite.netty.internal;

import io.github.onewrite.Phase;
import io.github.onewrite.internal.TimedCall;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandler;
import io.netty.handler.proxy.ProxyHandler;
import io.netty.handler.ssl.SslHandler;
import io.netty.util.NetUtil;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.util.Map;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * When the connection was made: the name, TCP, the tunnel through a proxy, TLS. The call that it is made for gets the steps
 * as they come, where the client shows which call that is; else its first call gets them afterwards. Owned by the channel's
 * loop.
 */
final class ConnectTimes {
    private final Channel channel;
    private final Function<Channel, @Nullable Exchange> openers;

    /** The name that is looked up before the connect. */
    private final String host;

    /** False for a channel that was open before the handlers were added: its connect has no times. */
    private final boolean known;

    private @Nullable String proxy;
    private @Nullable String peer;
    private boolean tunnels;
    private boolean secures;

    // Of System.nanoTime; 0 is not yet.
    private long lookup;
    private long started;
    private long ended;
    private long secured;

    /** Until the connection is ready. */
    private @Nullable Exchange first;

    ConnectTimes(Channel channel, String host, Function<Channel, @Nullable Exchange> openers) {
        this.channel = channel;
        this.host = host;
        this.openers = openers;
        this.known = !channel.isActive();
    }

    /** The first bytes go to a proxy. */
    void tunnel() {
        tunnels = true;
    }

    /** Host and port of the proxy that the connection goes through. */
    void proxy(@Nullable String address) {
        proxy = address;
    }

    @Nullable
    String proxy() {
        return proxy;
    }

    boolean tunnels() {
        return tunnels;
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

    /** The connection is made for this call. */
    void madeFor(Exchange exchange) {
        first = exchange;
        exchange.step(0, (made, timed, at) -> stamp(timed));
    }

    /**
     * The first request has a call. Its connection may not be ready, where a client does not wait for it.
     *
     * @return whether the call has its connection now; if not, {@link Exchange#connected} follows
     */
    boolean serve(Exchange exchange) {
        exchange.step(0, (served, timed, at) -> stamp(timed));
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

    /** The name is being looked up. */
    void resolving() {
        Exchange maker = maker();
        lookup = System.nanoTime();
        begin(maker, lookup);
    }

    /** @param remote is the peer, unless a proxy handler connects elsewhere: it may stand above or below ours */
    void connecting(SocketAddress remote) {
        SocketAddress to = remote;
        for (Map.Entry<String, ChannelHandler> each : channel.pipeline()) {
            if (isProxy(each.getValue().getClass())) {
                to = Tunnel.through(each.getValue(), this);
                break;
            }
        }
        if (to instanceof InetSocketAddress address && address.isUnresolved()) {
            step(); // Its lookup has failed, so the transport will refuse it.
            return;
        }
        Exchange maker = maker();
        started = System.nanoTime();
        peer = to instanceof InetSocketAddress address ? NetUtil.toSocketAddressString(address) : to.toString();
        begin(maker, started);
    }

    private void begin(@Nullable Exchange maker, long now) {
        if (maker != null) {
            maker.step(now, (exchange, timed, at) -> {
                timed.attempt(at);
                stamp(timed);
            });
        }
    }

    private void step() {
        Exchange maker = maker();
        if (maker != null) {
            maker.step(0, (exchange, timed, at) -> stamp(timed));
        }
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
        static SocketAddress through(ChannelHandler handler, ConnectTimes times) {
            ProxyHandler proxy = (ProxyHandler) handler;
            if (times.proxy == null && proxy.proxyAddress() instanceof InetSocketAddress address) {
                times.proxy = NettySetup.hostAndPort(address.getHostString(), address.getPort());
            }
            if (!times.tunnels) {
                times.tunnels = true;
                proxy.connectFuture().addListener(done -> {
                    if (done.isSuccess()) {
                        times.connected();
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
        step();
        if (tls == null) {
            ready();
            return;
        }
        // A failed handshake leaves the phase open: the error that follows ends it, with tls as its phase.
        tls.handshakeFuture().addListener(done -> {
            if (done.isSuccess()) {
                secured = System.nanoTime();
                step();
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
