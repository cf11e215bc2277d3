package io.github.onewrite.netty;

import io.github.onewrite.internal.TimedCall;
import io.netty.channel.Channel;
import io.netty.handler.ssl.SslHandler;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** When the connection was made: TCP, the tunnel through a proxy, TLS. Owned by the channel's loop. */
final class ConnectTimes {
    private final Channel channel;
    private final Function<Channel, OnewriteNetty.@Nullable Call> makers;

    /** False for a channel that was open before the handlers were added: its connect has no times. */
    private final boolean known;

    private long started;
    private long ended;
    private long secured;
    private boolean tunnels;
    private boolean securing;
    private @Nullable Exchange first;

    ConnectTimes(Channel channel, Function<Channel, OnewriteNetty.@Nullable Call> makers) {
        this.channel = channel;
        this.makers = makers;
        this.known = !channel.isActive();
    }

    /** The first bytes go to a proxy. */
    void tunnel() {
        tunnels = true;
    }

    boolean tunnels() {
        return tunnels;
    }

    private boolean isReady() {
        return !known || (ended != 0 && !securing);
    }

    /** The call for which the connection is made, or null until the first request has one. */
    private OnewriteNetty.@Nullable Call maker() {
        return first == null ? makers.apply(channel) : first.call();
    }

    private void step(long at, OnewriteNetty.Step step) {
        OnewriteNetty.Call maker = maker();
        if (maker != null) {
            maker.step(at, step);
        }
    }

    /**
     * The first request has a call. Its connection may not be ready, where a client does not wait for it.
     *
     * @return whether the call has its connection now; if not, {@link Exchange#connected} follows
     */
    boolean serve(Exchange exchange) {
        OnewriteNetty.Call call = exchange.call();
        long from = started;
        long until = ended;
        long tls = secured;
        call.step((timed, at) -> timed.connected(from, until, tls));
        if (isReady()) {
            return true;
        }
        first = exchange;
        if (until != 0) {
            call.step(until, TimedCall::tlsStart);
        } else if (from != 0) {
            call.step(from, (timed, at) -> {
                if (at > timed.startedAtMonoNanos()) {
                    timed.connectStart(at);
                }
            });
        }
        return false;
    }

    void connecting() {
        long at = System.nanoTime();
        started = at;
        step(at, (timed, time) -> {
            timed.attempt(time);
            // The resolver may report on another event loop, after its result is used.
            timed.dnsEnd(time);
            timed.connectStart(time);
        });
    }

    /** TCP is connected, and the tunnel is open if there is one. */
    void connected() {
        tunnels = false;
        long at = System.nanoTime();
        ended = at;
        step(at, TimedCall::connectEnd);
        SslHandler tls = channel.pipeline().get(SslHandler.class);
        if (tls == null) {
            ready();
            return;
        }
        securing = true;
        step(at, TimedCall::tlsStart);
        // A failed handshake leaves the phase open: the error that follows ends it, with tls as its phase.
        tls.handshakeFuture().addListener(done -> {
            securing = false;
            if (done.isSuccess()) {
                secured = System.nanoTime();
                step(secured, TimedCall::tlsEnd);
                ready();
            }
        });
    }

    /** The proxy's answer is not HTTP. */
    void failed(Throwable why) {
        OnewriteNetty.Call maker = maker();
        if (maker != null) {
            maker.failed(why);
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
