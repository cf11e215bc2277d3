package io.github.onewrite.netty;

import io.github.onewrite.OnewriteConfig;
import io.github.onewrite.spi.CallTimer;
import io.github.onewrite.spi.PooledConnection;
import io.github.onewrite.spi.ServerTimings;
import io.github.onewrite.spi.TimedCall;
import io.netty.channel.Channel;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpResponse;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpUtil;
import io.netty.handler.ssl.SslHandler;
import io.netty.util.AttributeKey;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.nio.channels.ClosedChannelException;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * One connection, and the call it serves: for adapters of clients that stand on Netty. A pipeline needs only
 * {@link OnewriteNetty}. Its methods are to be called on the channel's event loop.
 */
public final class NettyConnection {
    private static final AttributeKey<NettyConnection> KEY = AttributeKey.valueOf(NettyConnection.class, "connection");

    /** The part of a connection that calls use. */
    private final class Pooled implements PooledConnection {
        private final long id = PooledConnection.nextId();

        @Override
        public long id() {
            return id;
        }

        @Override
        public boolean whenClosed(Runnable task) {
            channel.closeFuture().addListener(closed -> task.run());
            return true;
        }
    }

    private final PooledConnection pooled = new Pooled();
    private final Channel channel;
    private final String host;
    private final Function<Channel, OnewriteNetty.@Nullable Call> makers;
    private final @Nullable KernelProbe probe;
    private final Placement placement = new Placement();
    private final ByteCounter counter = new ByteCounter();
    private boolean tunnels;
    private boolean held;

    private @Nullable TimedCall call;
    private boolean endsWithResponse;
    private boolean clientReportsOutcome;
    private @Nullable OnewriteNetty beginner;
    private int attempt;
    private int requests;
    private long freeSince;
    private @Nullable Throwable error;
    private boolean switched;
    private boolean keepAlive;

    // When the connection was made, for the call that it first serves; 0 when it did not happen.
    private long connectStarted;
    private long connectEnded;
    private long tlsEnded;

    private NettyConnection(
            Channel channel, @Nullable SocketAddress remote, Function<Channel, OnewriteNetty.@Nullable Call> makers) {
        this.channel = channel;
        this.host = remote instanceof InetSocketAddress address ? address.getHostString() : "";
        this.makers = makers;
        this.probe = KernelProbes.of(channel);
    }

    /**
     * Attaches to a new channel, and stamps its connect.
     *
     * @param remote the address it will connect to, if known: its host name is the one that DNS events show
     * @param nodelay whether a socket without TCP_NODELAY is refused; false where the user has set the option
     * @param makers finds the call for which a connection is opened; finds null where the client reports that itself
     */
    public static NettyConnection attach(
            Channel channel,
            @Nullable SocketAddress remote,
            boolean nodelay,
            Function<Channel, OnewriteNetty.@Nullable Call> makers) {
        NettyConnection connection = new NettyConnection(channel, remote, makers);
        channel.attr(KEY).set(connection);
        channel.pipeline().addFirst(ConnectHandler.NAME, new ConnectHandler(connection));
        if (nodelay) {
            channel.pipeline().addFirst(NodelayHandler.NAME, new NodelayHandler());
        }
        return connection;
    }

    /** The connection of a channel, or null. */
    public static @Nullable NettyConnection of(Channel channel) {
        return channel.attr(KEY).get();
    }

    /** The host name that is resolved for the connection. */
    public String host() {
        return host;
    }

    /**
     * Puts the handlers around the HTTP/1.1 codec, unless they are. A client may replace its codec, so call this before
     * each request.
     *
     * @param answersHeldWrites whether a write is answered before it is flushed: for clients that pull the next chunk
     *     only when the last one is written
     * @return false when the channel does not speak HTTP/1.1
     */
    public boolean place(OnewriteConfig config, boolean answersHeldWrites) {
        return placement.place(channel.pipeline(), this, config, answersHeldWrites);
    }

    /** The first bytes go to a proxy, whose tunnel is part of the connect. */
    public void tunnel() {
        tunnels = true;
    }

    /**
     * The channel will open a tunnel through a proxy, which is part of its connect.
     *
     * @param proxyHandler name of Netty's handler that makes the tunnel
     */
    public void tunnel(String proxyHandler) {
        tunnel();
        channel.pipeline().addAfter(proxyHandler, TunnelHandler.NAME, new TunnelHandler(this));
    }

    boolean tunnels() {
        return tunnels;
    }

    private @Nullable TimedCall maker() {
        OnewriteNetty.Call found = makers.apply(channel);
        return found == null ? null : found.timed();
    }

    void connecting() {
        connectStarted = System.nanoTime();
        TimedCall maker = maker();
        if (maker == null) {
            return;
        }
        maker.attempt();
        maker.step(timer -> {
            // The resolver may report on another event loop, after its result is used.
            timer.dnsEnd(null);
            timer.connectStart();
        });
    }

    /** The TCP connection, and the tunnel if there is one, is open. */
    void connected() {
        tunnels = false;
        connectEnded = System.nanoTime();
        // A client that does not wait for the tunnel may have begun its request.
        TimedCall maker = call == null ? maker() : call;
        if (maker != null) {
            maker.step(timer -> timer.connectEnd(null));
        }
        SslHandler tls = channel.pipeline().get(SslHandler.class);
        if (tls != null) {
            if (maker != null) {
                maker.step(CallTimer::tlsStart);
            }
            // A failed handshake leaves the phase open: the error that follows ends it, with tls as its phase.
            tls.handshakeFuture().addListener(done -> {
                if (done.isSuccess()) {
                    tlsEnded = System.nanoTime();
                    if (maker != null) {
                        maker.step(timer -> timer.tlsEnd(null));
                    }
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

    /** Calls end with the last content of their response, or with the channel; the client reports nothing. */
    void endCallsWithResponse() {
        endsWithResponse = true;
    }

    /** A request without a call begins one. */
    void times(OnewriteNetty requests) {
        beginner = requests;
    }

    /** A head is being written, and no call is served. */
    void begin(HttpRequest request) {
        OnewriteNetty begins = beginner;
        if (begins == null || !begins.wanted()) {
            return;
        }
        boolean exchange = !request.method().equals(HttpMethod.CONNECT)
                && !request.headers().contains(HttpHeaderNames.UPGRADE);
        serve(exchange ? begins.begin(request.method().name(), url(request)) : null);
    }

    private String url(HttpRequest request) {
        if (!request.uri().startsWith("/")) {
            return request.uri(); // in full, for a proxy
        }
        String scheme = channel.pipeline().get(SslHandler.class) == null ? "http://" : "https://";
        return scheme + request.headers().get(HttpHeaderNames.HOST, "") + request.uri();
    }

    /** The channel is given back to its pool. */
    void freed() {
        freeSince = System.nanoTime();
    }

    /**
     * The connection serves an attempt of a call from now on.
     *
     * @param with the call, which may be one that nobody times
     */
    public void serve(OnewriteNetty.@Nullable Call with) {
        TimedCall timed = with == null ? null : with.timed();
        call = timed;
        requests++;
        counter.begin();
        error = null;
        switched = false;
        if (probe != null) {
            probe.begin(timed != null);
        }
        if (timed == null) {
            return;
        }
        attempt = timed.attempt();
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
        if (!reused && connectEnded > 0 && connectStarted > timer.attemptStartedAt()) {
            timer.connected(connectStarted, connectEnded, tlsEnded);
        }
        timer.connectionAcquired(pooled, reused, reused ? Math.max(0, System.nanoTime() - freeSince) : -1, requests);
    }

    /** The connection serves the call no more; the call goes on, or ends by other means. */
    public void release(boolean reusable) {
        if (call != null) {
            step(timer -> timer.connectionReleased(reusable));
            call = null;
        }
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

    /** The bytes that were read are not an HTTP response. */
    void malformed(Throwable why) {
        error(why);
        TimedCall current = call;
        if (current != null && endsWithResponse) {
            release(false);
            current.failed(why);
        }
    }

    /** The channel is closed, and the handlers above have processed that. */
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
            current.abandoned(attempt, error == null && endsWithResponse ? new ClosedChannelException() : error);
        }
    }

    /**
     * The client reports the outcome of each call itself, possibly after it has closed the connection: so a close without
     * an error is ignored here.
     */
    public void clientReportsOutcome() {
        clientReportsOutcome = true;
    }

    @Nullable
    TimedCall call() {
        return call;
    }

    private void step(Consumer<CallTimer> step) {
        TimedCall current = call;
        if (current != null) {
            current.step(attempt, step);
        }
    }

    /** The head is being written, or was just now, on this thread and in the scope of its tracer. */
    public void requestWrite() {
        step(CallTimer::requestWrite);
    }

    /** Bytes are being written: below the codec, so in the scope of a tracer that stands between it and the client. */
    void wrote(Object message) {
        if (call != null && counter.bytes() == 0) {
            requestWrite();
        }
        counter.wrote(message);
    }

    /** What was written is handed to the transport. */
    void flushed() {
        if (counter.flushed() && !held) {
            step(CallTimer::requestStart);
        }
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
        if (call == null) {
            return;
        }
        keepAlive = HttpUtil.isKeepAlive(response);
        step(timer -> {
            timer.responseStart(counter.firstRead());
            long waited = timer.waitNanos();
            KernelProbe.Evidence evidence = probe == null || waited < 0 ? null : probe.end(waited);
            if (evidence != null) {
                timer.kernel(evidence.kernel(), evidence.windowLimitedNanos(), evidence.nagle());
            }
            timer.headersEnd(status, response.headers().getAll(ServerTimings.HEADER));
        });
    }

    /** The response is read. @return the call that this ends, if it does */
    @Nullable
    TimedCall responseRead(long received) {
        freeSince = System.nanoTime();
        TimedCall current = call;
        if (current == null) {
            return null;
        }
        step(timer -> timer.responseEnd(received));
        if (!endsWithResponse || switched) {
            return null;
        }
        release(keepAlive && channel.isActive());
        return current;
    }
}
