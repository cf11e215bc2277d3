package io.github.onewrite.netty;

import io.github.onewrite.Outcome;
import io.github.onewrite.internal.ErrorKinds;
import io.github.onewrite.internal.SocketCounts;
import io.github.onewrite.internal.TimedCall;
import io.netty.channel.Channel;
import io.netty.channel.ChannelPromise;
import io.netty.channel.EventLoop;
import io.netty.handler.codec.CodecException;
import io.netty.handler.codec.DecoderException;
import io.netty.handler.ssl.SslHandler;
import io.netty.util.AttributeKey;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.nio.channels.ClosedChannelException;
import java.util.ArrayDeque;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * One connection, and the calls it serves: for adapters of clients that stand on Netty and make their own retries. A
 * pipeline needs only {@link OnewriteNetty}. Its methods are to be called on the channel's event loop.
 *
 * <p>Requests without their answer stand in a queue. So an answer that comes before its request is sent, or behind
 * another one, belongs to its own call.
 */
public final class NettyConnection {
    private static final AttributeKey<NettyConnection> KEY = AttributeKey.valueOf(NettyConnection.class, "connection");

    /** Who ends a call. */
    public enum Ends {
        /** The last content of the response, or the close of the channel. */
        WITH_RESPONSE,
        /** The client; and the close of the channel, which without an error means that the caller gave up. */
        WITH_CHANNEL,
        /**
         * The client, possibly after it has closed the channel; and an error of the channel. The client's step does not
         * wait for the event loop, which may be encrypting a large body.
         */
        BY_CLIENT
    }

    private final long id = TimedCall.nextConnectionId();
    private final Channel channel;
    private final String host;
    private final Ends ends;
    private final ConnectTimes times;
    private final @Nullable KernelProbe probe;
    private final Placement placement = new Placement();

    /** Requests without the end of their answer, in order; one that is not timed stands there, too. */
    private final ArrayDeque<Exchange> exchanges = new ArrayDeque<>(2);

    private final Exchange untimed = new Exchange(this, OnewriteNetty.Call.UNTIMED);
    private @Nullable OnewriteNetty beginner;
    private Exchange served = untimed;
    private boolean headDue;
    private boolean join;
    private @Nullable String authority;
    private String origin = "";
    private int requests;
    private long freeSince;
    private long lastRead;
    private @Nullable Throwable error;

    private NettyConnection(
            Channel channel,
            @Nullable SocketAddress remote,
            Function<Channel, OnewriteNetty.@Nullable Call> makers,
            Ends ends) {
        this.channel = channel;
        this.host = remote instanceof InetSocketAddress address ? address.getHostString() : "";
        this.ends = ends;
        this.join = joinsUnasked();
        this.times = new ConnectTimes(channel, makers);
        this.probe = probeOf(channel);
    }

    /**
     * Attaches to a new channel, and stamps its connect. A channel that has a connection keeps it.
     *
     * @param remote the address it will connect to, if known: its host name is the one that DNS events show
     * @param nodelay counts a socket without TCP_NODELAY, which is set; null where the user has set the option
     * @param makers finds the call for which a connection is opened; finds null where the client reports that itself
     */
    public static NettyConnection attach(
            Channel channel,
            @Nullable SocketAddress remote,
            @Nullable SocketCounts nodelay,
            Function<Channel, OnewriteNetty.@Nullable Call> makers,
            Ends ends) {
        NettyConnection known = of(channel);
        if (known != null) {
            return known;
        }
        NettyConnection connection = new NettyConnection(channel, remote, makers, ends);
        channel.attr(KEY).set(connection);
        channel.pipeline().addFirst(ConnectHandler.NAME, new ConnectHandler(connection, nodelay));
        return connection;
    }

    /** By name: Netty's native transports are optional dependencies. */
    private static @Nullable KernelProbe probeOf(Channel channel) {
        String transport = channel.getClass().getName();
        return transport.contains(".epoll.") || transport.contains(".uring.") ? KernelProbe.of(channel) : null;
    }

    /** The connection of a channel, or null. */
    public static @Nullable NettyConnection of(Channel channel) {
        return channel.attr(KEY).get();
    }

    /** The host name that is resolved for the connection. */
    public String host() {
        return host;
    }

    long id() {
        return id;
    }

    ConnectTimes times() {
        return times;
    }

    @Nullable
    KernelProbe probe() {
        return probe;
    }

    /**
     * Puts the handlers around the HTTP/1.1 codec, unless they are. A client may replace its codec, so call this before
     * each request.
     *
     * @param answersHeldWrites whether a write is answered before it is flushed: for clients that pull the next chunk
     *     only when the last one is written
     * @return false when the channel does not speak HTTP/1.1
     */
    public boolean place(OnewriteNetty onewrite, boolean answersHeldWrites) {
        return placement.place(channel.pipeline(), this, onewrite, answersHeldWrites);
    }

    boolean isPlaced() {
        return placement.isPlaced();
    }

    /** Whether the writes of the next request are joined. */
    boolean takeJoin() {
        boolean now = join;
        join = joinsUnasked();
        return now;
    }

    /** Such a client may read a body that blocks on the event loop: only {@link #serve(OnewriteNetty.Call, boolean)} allows it. */
    private boolean joinsUnasked() {
        return ends != Ends.BY_CLIENT;
    }

    /** The first bytes go to a proxy, whose tunnel is part of the connect. */
    public void tunnel() {
        times.tunnel();
    }

    /**
     * The channel opens a tunnel through a proxy, which is part of its connect.
     *
     * @param proxyHandler name of Netty's handler that makes the tunnel
     */
    public void tunnel(String proxyHandler) {
        if (channel.pipeline().get(TunnelHandler.NAME) == null) {
            tunnel();
            channel.pipeline().addAfter(proxyHandler, TunnelHandler.NAME, new TunnelHandler(times));
        }
    }

    /** A request without a call begins one of these hooks. The first that is given stays. */
    void begins(OnewriteNetty hooks) {
        beginner = beginner == null ? hooks : beginner;
    }

    @Nullable
    OnewriteNetty beginner() {
        return beginner;
    }

    /** The channel is given back to its pool. */
    void freed() {
        freeSince = System.nanoTime();
    }

    /**
     * The connection serves an attempt of a call from now on: its request is written next.
     *
     * @param call one that is not timed, or null, for a request that is not reported
     */
    public void serve(OnewriteNetty.@Nullable Call call) {
        serve(call, joinsUnasked());
    }

    /**
     * The connection serves an attempt of a call from now on.
     *
     * @param joins whether the writes of its request are joined: reading its body does not block the event loop
     */
    public void serve(OnewriteNetty.@Nullable Call call, boolean joins) {
        join = joins;
        headDue = true;
        requests++;
        if (call == null || !call.isTimed()) {
            served = untimed;
            if (probe != null) {
                probe.forget();
            }
            return;
        }
        // That of the connect is the first call's.
        error = requests == 1 ? error : null;
        served = new Exchange(this, call);
        if (ends != Ends.BY_CLIENT) {
            call.carriedBy(channel.eventLoop());
        }
        served.serve(times, freeSince, requests);
        if (ends == Ends.WITH_RESPONSE && !channel.isOpen()) {
            closed();
        }
    }

    /** The head of a request is being written. Begins a call where none was served. */
    void write(Object head) {
        if (!headDue) {
            serve(beginner == null ? null : TimingHandler.begin(this, beginner, head));
        }
        headDue = false;
        exchanges.add(served);
    }

    /**
     * A head was encoded before the handlers stood beside its codec.
     *
     * @return the promise of its write
     */
    ChannelPromise writeLate(Object encoded, ChannelPromise promise) {
        write(encoded);
        served.wrote(ByteHandler.size(encoded));
        return served.isTimed() ? served.late(promise.unvoid()) : promise;
    }

    /** The request that is written, unless it is answered. */
    Exchange writing() {
        Exchange last = exchanges.peekLast();
        return last == null ? untimed : last;
    }

    /** The request whose answer is read. */
    Exchange reading() {
        Exchange first = exchanges.peek();
        return first == null ? untimed : first;
    }

    /** The connection serves the call no more; the call goes on, or ends by other means. */
    public void release(boolean reusable) {
        served.release(System.nanoTime(), reusable);
    }

    /** The attempt is answered and the call goes on elsewhere. */
    public void answered(boolean reusable) {
        long at = System.nanoTime();
        if (served.release(at, reusable)) {
            served.step(at, TimedCall::left);
        }
    }

    /** The attempt is lost. */
    public void lost(Throwable why) {
        long at = System.nanoTime();
        if (served.release(at, false)) {
            served.step(at, (timed, time) -> timed.attemptEnd(time, Outcome.ERROR, why));
        }
    }

    /** The error that closes the connection, if it is closed before the call ends. The first one counts. */
    public void error(Throwable thrown) {
        if (error == null) {
            error = thrown;
        }
    }

    /** The bytes that were read are not an HTTP response: no client tries again after that. */
    void malformed(Throwable cause) {
        // Its type says that the peer is at fault: the decoder has only an IllegalArgumentException.
        Throwable why = cause instanceof CodecException ? cause : new DecoderException(cause);
        error(why);
        fail(reading(), why);
        if (times.tunnels()) {
            times.failed(why);
        }
    }

    private void fail(Exchange exchange, @Nullable Throwable why) {
        long at = System.nanoTime();
        if (exchange.release(at, false)) {
            exchange.step(at, (timed, time) -> {
                if (why == null) {
                    timed.cancelled(time);
                } else {
                    timed.failed(time, ErrorKinds.of(why, NettyErrors::kindOf), why);
                }
            });
        }
    }

    /** The channel is closed, and the handlers above have processed that. */
    void closed() {
        Throwable why = error == null && ends == Ends.WITH_RESPONSE ? new ClosedChannelException() : error;
        exchanges.add(served);
        for (Exchange each = exchanges.poll(); each != null; each = exchanges.poll()) {
            if (why == null && ends == Ends.BY_CLIENT) {
                each.release(System.nanoTime(), false);
            } else {
                fail(each, why);
            }
        }
    }

    /** The head is being written, or was just now, on this thread and in the scope of its tracer. */
    public void requestWrite() {
        served.requestWrite();
    }

    /** Scheme and authority of the URLs. */
    String origin(String authority) {
        if (!authority.equals(this.authority)) {
            this.authority = authority;
            origin = (channel.pipeline().get(SslHandler.class) == null ? "http://" : "https://") + authority;
        }
        return origin;
    }

    void flushes() {
        each(Exchange::flushes);
    }

    void flushed() {
        each(Exchange::flushed);
    }

    /** A hook may write another request meanwhile, or close the channel. */
    private void each(Consumer<Exchange> step) {
        if (exchanges.size() == 1) {
            step.accept(exchanges.element());
        } else {
            List.copyOf(exchanges).forEach(step);
        }
    }

    EventLoop loop() {
        return channel.eventLoop();
    }

    void read() {
        Exchange first = exchanges.peek();
        if (first != null && first.isTimed()) {
            lastRead = System.nanoTime();
            first.read(lastRead);
        }
    }

    /** The head of the final answer was read. */
    void head(int status) {
        reading().head(status, lastRead, exchanges.size() == 1);
    }

    /**
     * The answer is read: its last byte came with the last read.
     *
     * @param reusable whether the connection can carry another request
     * @return the exchange whose call this ends, if it does
     */
    @Nullable
    Exchange responseRead(long received, boolean reusable) {
        Exchange exchange = exchanges.poll();
        if (exchange == null || !exchange.isTimed()) {
            freeSince = System.nanoTime();
            return null;
        }
        freeSince = lastRead;
        exchange.responseEnd(lastRead, received);
        boolean over = ends == Ends.WITH_RESPONSE && exchange.release(lastRead, reusable && channel.isActive());
        return over ? exchange : null;
    }

    long lastRead() {
        return lastRead;
    }
}
