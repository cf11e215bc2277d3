package io.github.onewrite.netty.internal;

import io.github.onewrite.internal.TimedCall;
import io.netty.channel.Channel;
import io.netty.handler.ssl.SslHandler;
import io.netty.util.NetUtil;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
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

    private long lookup;
    private @Nullable String proxy;
    private @Nullable String peer;
    private long started;
    private long ended;
    private long secured;
    private boolean tunnels;
    private boolean securing;

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
        if (secured == 0 && !securing && channel.pipeline().get(SslHandler.class) != null) {
            secured = System.nanoTime();
        }
        return started;
    }

    private boolean isReady() {
        return !known || (ended != 0 && !securing);
    }

    /** The connection is made for this call. */
    void madeFor(Exchange exchange) {
        first = exchange;
        exchange.step(0, (made, timed, at) -> {
            timed.proxy(proxy);
            if (lookup != 0) {
                timed.dnsStart(lookup, host);
            }
        });
    }

    /** The name is being looked up. */
    void resolving() {
        lookup = System.nanoTime();
        step(lookup, (exchange, timed, at) -> {
            timed.attempt(at);
            timed.dnsStart(at, host);
        });
    }

    private void step(long at, Exchange.Step step) {
        Exchange maker = first == null ? openers.apply(channel) : first;
        if (maker != null) {
            maker.ownedBy(channel.eventLoop());
            maker.step(at, step);
        }
    }

    /**
     * The first request has a call. Its connection may not be ready, where a client does not wait for it.
     *
     * @return whether the call has its connection now; if not, {@link Exchange#connected} follows
     */
    boolean serve(Exchange exchange) {
        exchange.step(0, (served, timed, none) -> {
            timed.proxy(proxy);
            missed(timed);
        });
        first = isReady() ? null : exchange;
        return first == null;
    }

    /** The steps that the record does not have yet. Those of a connection that was made for another call are not its own. */
    private void missed(TimedCall timed) {
        if (started == 0 || started < timed.attemptStartedAt()) {
            return;
        }
        if (lookup > timed.attemptStartedAt()) {
            timed.dnsStart(lookup, host);
            timed.dnsEnd(started);
        }
        timed.connectStart(started, peer);
        if (ended != 0) {
            timed.connectEnd(ended);
        }
        if (ended != 0 && (securing || secured != 0)) {
            timed.tlsStart(ended);
        }
        if (secured != 0) {
            timed.tlsEnd(secured);
        }
    }

    void connecting(SocketAddress remote) {
        started = System.nanoTime();
        peer = remote instanceof InetSocketAddress address ? NetUtil.toSocketAddressString(address) : remote.toString();
        step(started, (exchange, timed, at) -> {
            timed.attempt(at);
            timed.proxy(proxy);
            // The resolver may report on another event loop, after its result is used.
            timed.dnsEnd(at);
            timed.connectStart(at, peer);
        });
    }

    /** TCP is connected, and the tunnel is open if there is one. */
    void connected() {
        tunnels = false;
        ended = System.nanoTime();
        step(ended, (exchange, timed, at) -> timed.connectEnd(at));
        SslHandler tls = channel.pipeline().get(SslHandler.class);
        if (tls == null) {
            ready();
            return;
        }
        securing = true;
        step(ended, (exchange, timed, at) -> timed.tlsStart(at));
        // A failed handshake leaves the phase open: the error that follows ends it, with tls as its phase.
        tls.handshakeFuture().addListener(done -> {
            securing = false;
            if (done.isSuccess()) {
                secured = System.nanoTime();
                step(secured, (exchange, timed, at) -> timed.tlsEnd(at));
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
