package io.github.onewrite.netty;

import io.github.onewrite.internal.CallTimer;
import io.github.onewrite.internal.PooledConnection;
import io.github.onewrite.internal.ServerTimings;
import io.github.onewrite.internal.TimedCall;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.handler.codec.http.HttpResponse;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.ssl.SslHandler;
import io.netty.util.AttributeKey;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * One connection of another library's client, and the call it serves. Its handlers stamp the call's steps here. Confined
 * to the channel's event loop.
 */
public final class TimedConnection implements PooledConnection {
    private static final AttributeKey<TimedConnection> KEY = AttributeKey.valueOf(TimedConnection.class, "connection");

    private final long id = PooledConnection.nextId();
    private final Channel channel;
    private final String host;
    private final Function<Channel, @Nullable TimedCall> makers;
    private final @Nullable KernelProbe probe;
    private @Nullable ChannelHandlerContext codec;
    private boolean tunnels;
    private boolean held;

    private @Nullable TimedCall call;
    private boolean clientReportsOutcome;
    private int attempt;
    private int requests;
    private long freeSince;
    private @Nullable Throwable error;
    private boolean switched;

    private final ByteCounter counter = new ByteCounter();

    private TimedConnection(
            Channel channel, @Nullable SocketAddress remote, Function<Channel, @Nullable TimedCall> makers) {
        this.channel = channel;
        this.host = remote instanceof InetSocketAddress address ? address.getHostString() : "";
        this.makers = makers;
        this.probe = KernelProbes.of(channel);
    }

    /**
     * Attaches to a new channel.
     *
     * @param remote the address it will connect to, if known: its host name is the one that DNS events show
     * @param makers finds the call for which a connection is opened; finds null where the client reports that itself
     */
    public static TimedConnection attach(
            Channel channel, @Nullable SocketAddress remote, Function<Channel, @Nullable TimedCall> makers) {
        TimedConnection connection = new TimedConnection(channel, remote, makers);
        channel.attr(KEY).set(connection);
        return connection;
    }

    /** The connection of a channel, or null. */
    public static @Nullable TimedConnection of(Channel channel) {
        return channel.attr(KEY).get();
    }

    @Override
    public long id() {
        return id;
    }

    @Override
    public boolean whenClosed(Runnable task) {
        channel.closeFuture().addListener(closed -> task.run());
        return true;
    }

    /** The host name that is resolved for the connection. */
    public String host() {
        return host;
    }

    boolean surrounds(ChannelHandlerContext context) {
        return codec == context;
    }

    /** Whether the client has removed the codec that the handlers surround. */
    boolean lostCodec() {
        ChannelHandlerContext known = codec;
        return known != null && known.isRemoved();
    }

    void surround(ChannelHandlerContext context) {
        codec = context;
    }

    /** The first bytes go to a proxy, whose tunnel is part of the connect. */
    public void tunnel() {
        tunnels = true;
    }

    boolean tunnels() {
        return tunnels;
    }

    @Nullable
    TimedCall maker() {
        return makers.apply(channel);
    }

    /** The TCP connection, and the tunnel if there is one, is open. */
    void connected() {
        tunnels = false;
        // A client that does not wait for the tunnel may have begun its request.
        TimedCall maker = call == null ? maker() : call;
        if (maker == null) {
            return;
        }
        maker.step(timer -> timer.connectEnd(null));
        SslHandler tls = channel.pipeline().get(SslHandler.class);
        if (tls != null) {
            maker.step(CallTimer::tlsStart);
            // A failed handshake leaves the phase open: the error that follows ends it, with tls as its phase.
            tls.handshakeFuture().addListener(done -> {
                if (done.isSuccess()) {
                    maker.step(timer -> timer.tlsEnd(null));
                }
            });
        }
        if (held) {
            held = false;
            step(this::acquired);
            if (counter.writes() > 0) {
                step(CallTimer::requestStart);
            }
        }
    }

    /**
     * The connection serves an attempt of a call from now on.
     *
     * @param with null when the call is not timed
     */
    public void serve(@Nullable TimedCall with) {
        call = with;
        requests++;
        begin();
        if (with == null) {
            return;
        }
        attempt = with.attempt();
        if (tunnels) {
            held = true;
        } else {
            step(this::acquired);
        }
    }

    private void acquired(CallTimer timer) {
        boolean reused = requests > 1;
        if (reused && freeSince > timer.attemptStartedAt()) {
            // It served another call when this one requested a connection.
            timer.queuedSinceStart();
            timer.queueEnd();
        }
        timer.connectionAcquired(this, reused, reused ? Math.max(0, System.nanoTime() - freeSince) : -1, requests);
    }

    /** The connection serves the call no more; the call goes on, or ends by other means. */
    public void release(boolean reusable) {
        step(timer -> timer.connectionReleased(reusable));
        call = null;
    }

    /** The attempt is answered and the call goes on elsewhere. */
    public void answered(boolean reusable) {
        TimedCall current = call;
        release(reusable);
        if (current != null) {
            current.answered(attempt);
        }
    }

    /** The attempt is lost. */
    public void lost(Throwable why) {
        TimedCall current = call;
        release(false);
        if (current != null) {
            current.lost(attempt, why);
        }
    }

    /** The error that closes the connection, if it is closed before the call ends. The first one counts. */
    public void error(Throwable thrown) {
        if (error == null) {
            error = thrown;
        }
    }

    /** The channel is closed, and the client has been told. */
    void closed() {
        TimedCall current = call;
        release(false);
        if (current == null) {
            return;
        }
        if (switched) {
            // The call was answered with 101, and lasts as long as the other protocol.
            current.completed();
        } else if (error != null || !clientReportsOutcome) {
            current.abandoned(attempt, error);
        }
    }

    /**
     * The client reports the outcome of each call itself, possibly after it has closed the connection: so a close without
     * an error is ignored here.
     */
    public void clientReportsOutcome() {
        clientReportsOutcome = true;
    }

    /** The call being served, if it is timed. */
    public @Nullable TimedCall call() {
        return call;
    }

    private void step(Consumer<CallTimer> step) {
        TimedCall current = call;
        if (current != null) {
            current.step(attempt, step);
        }
    }

    /** A request begins. */
    private void begin() {
        counter.begin();
        error = null;
        switched = false;
        if (probe != null) {
            probe.begin(call != null);
        }
    }

    /** The head is being written, or was just now, on this thread and in the scope of its tracer. */
    public void requestWrite() {
        step(CallTimer::requestWrite);
    }

    void wrote(Object message) {
        counter.wrote(message);
    }

    /** What was written is handed to the transport. */
    void flushed() {
        if (counter.flushed() && !held) {
            step(CallTimer::requestStart);
        }
    }

    /** Bytes of HTTP written since the request began. */
    long bytes() {
        return counter.bytes();
    }

    void requestSent() {
        step(timer -> timer.requestEnd(counter.bytes(), counter.writes()));
    }

    void read() {
        if (call != null) {
            counter.read();
        }
    }

    /** Sets TCP_QUICKACK, which the kernel resets: set again after each read. */
    void quickack() {
        if (probe != null) {
            probe.quickack();
        }
    }

    /** An interim response; the final one starts with what follows. */
    void interim(int status) {
        counter.interimRead();
        step(timer -> timer.informational(status));
    }

    void head(HttpResponse response) {
        int status = response.status().code();
        switched = status == HttpResponseStatus.SWITCHING_PROTOCOLS.code();
        step(timer -> {
            timer.responseStart(counter.firstRead());
            if (probe != null) {
                probe.explain(timer);
            }
            timer.headersEnd(status, response.headers().getAll(ServerTimings.HEADER));
        });
    }

    void responseRead(long received) {
        freeSince = System.nanoTime();
        step(timer -> timer.responseEnd(received));
    }
}
