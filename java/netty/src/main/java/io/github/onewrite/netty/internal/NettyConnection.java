package io.github.onewrite.netty.internal;

import io.github.onewrite.Outcome;
import io.github.onewrite.internal.TimedCall;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.socket.SocketChannel;
import io.netty.handler.codec.CodecException;
import io.netty.handler.codec.DecoderException;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpResponse;
import io.netty.handler.ssl.SslHandler;
import io.netty.util.AttributeKey;
import java.nio.channels.ClosedChannelException;
import java.util.ArrayDeque;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * One connection, and the requests it serves. Its methods are to be called on the channel's event loop.
 *
 * <p>Requests without their answer stand in a queue. So an answer that comes before its request is sent, or behind
 * another one, belongs to its own call. Nothing of a call stays here after its answer.
 */
public final class NettyConnection {
    private static final AttributeKey<NettyConnection> KEY = AttributeKey.valueOf(NettyConnection.class, "connection");

    final long id = TimedCall.nextConnectionId();

    /** The times of its connect. */
    public final ConnectHandler connect;

    /** Null where the kernel's evidence cannot be read. */
    final @Nullable KernelProbe probe;

    private final Channel channel;
    private final NettySetup setup;
    private final Placement placement;

    /** Requests without the end of their answer, in order; one that is not timed stands there, too. */
    private final ArrayDeque<Exchange> exchanges = new ArrayDeque<>(2);

    /** The one that is written next, or whose answer is not read yet. */
    private Exchange served = Exchange.UNTIMED;

    private boolean headDue;
    private @Nullable String authority;
    private String origin = "";
    private int requests;
    private long freeSince;

    /** When bytes of an answer were read last. */
    long lastRead;

    private @Nullable Throwable error;

    private NettyConnection(
            Channel channel,
            NettySetup setup,
            String host,
            @Nullable AtomicLong nodelay,
            Function<Channel, @Nullable Exchange> openers) {
        this.channel = channel;
        this.setup = setup;
        this.connect = new ConnectHandler(this, channel, host, nodelay, openers);
        this.probe = probeOf(channel);
        this.placement = new Placement(this, channel.pipeline(), setup.switches());
    }

    /**
     * Attaches to a new channel, and stamps its connect. A channel that has a connection keeps it.
     *
     * @param setup begins a call for a request that has none
     * @param host the name that is looked up before the connect, if {@link ConnectHandler#resolving} is called
     * @param nodelay counts a socket without TCP_NODELAY, which is set; null where the user has set the option
     * @param openers finds the call for which a connection is opened, or null
     */
    public static NettyConnection attach(
            Channel channel,
            NettySetup setup,
            String host,
            @Nullable AtomicLong nodelay,
            Function<Channel, @Nullable Exchange> openers) {
        NettyConnection known = of(channel);
        if (known != null) {
            return known;
        }
        NettyConnection connection = new NettyConnection(channel, setup, host, nodelay, openers);
        channel.attr(KEY).set(connection);
        channel.pipeline().addFirst(ConnectHandler.NAME, connection.connect);
        return connection;
    }

    /** By name: Netty's native transports are optional dependencies. */
    private static @Nullable KernelProbe probeOf(Channel channel) {
        String transport = channel.getClass().getName();
        boolean isNative = transport.contains(".epoll.") || transport.contains(".uring.");
        return isNative && channel instanceof SocketChannel ? new KernelProbe(channel) : null;
    }

    /** The connection of a channel, or null. */
    public static @Nullable NettyConnection of(Channel channel) {
        return channel.attr(KEY).get();
    }

    /**
     * Puts the handlers around the HTTP/1.1 codec, unless they are. A client may replace its codec, so call this before
     * each request.
     *
     * @return false when the channel does not speak HTTP/1.1
     */
    public boolean place() {
        return placement.place(setup.wanted());
    }

    boolean isPlaced() {
        return placement.isPlaced();
    }

    /**
     * A head reaches the handler above the codec. The codec may be another since the last head. A handler that was added
     * directly above it may consume the answers: a client that ends its calls has no such handler.
     *
     * @return whether the handler of this context was replaced or moved, so that the message is to be passed on
     */
    boolean moves(ChannelHandlerContext ctx) {
        if (!isPlaced()) {
            place();
        }
        if (!setup.endedByClient || requests == 0) {
            placement.adjoin();
        }
        return ctx.isRemoved();
    }

    /** The channel is given back to its pool. */
    void freed() {
        freeSince = System.nanoTime();
    }

    /** The connection serves an attempt of a call from now on: its request is written next. */
    public void serve(Exchange exchange) {
        headDue = true;
        requests++;
        served = exchange;
        if (!exchange.isTimed()) {
            if (probe != null) {
                probe.forget();
            }
            return;
        }
        // The handlers of a customizer without hooks do not take times.
        placement.place(true);
        // That of the connect is the first call's.
        error = requests == 1 ? error : null;
        exchange.ownedBy(channel.eventLoop());
        exchange.serve(this, freeSince, requests);
        if (!setup.endedByClient && !channel.isOpen()) {
            closed();
        }
    }

    /** A request was written before the handlers were in place. */
    void missed() {
        requests++;
    }

    /** The head of a request is being written. Begins a call where none was served. */
    void write(HttpRequest head) {
        if (!headDue) {
            serve(begin(head));
        }
        headDue = false;
        served.writes(head);
        exchanges.add(served);
    }

    /** A change of protocol is no call. */
    private Exchange begin(HttpRequest request) {
        if (!setup.wanted()
                || setup.endedByClient
                || request.method().equals(HttpMethod.CONNECT)
                || request.headers().contains(HttpHeaderNames.UPGRADE)) {
            return Exchange.UNTIMED;
        }
        // Else the target is the whole URL, for a proxy.
        String before = request.uri().startsWith("/") ? origin(request.headers().get(HttpHeaderNames.HOST, "")) : "";
        long connected = setup.begunByConnect && requests == 0 ? connect.started() : 0;
        long at = connected == 0 ? System.nanoTime() : connected;
        return setup.begin(request.method().name(), before, request.uri(), null, channel.eventLoop(), at);
    }

    /** Whether the request makes the tunnel of the connection: it belongs to the connect. */
    boolean isTunnel(HttpRequest head) {
        if (!head.method().equals(HttpMethod.CONNECT)) {
            return false;
        }
        if (setup.begunByConnect && requests == 0) {
            connect.tunnels = true;
        }
        return connect.tunnels;
    }

    /** Scheme and authority of the URLs. */
    private String origin(String host) {
        if (!host.equals(authority)) {
            authority = host;
            origin = (channel.pipeline().get(SslHandler.class) == null ? "http://" : "https://") + host;
        }
        return origin;
    }

    /** The request that is written, unless it is answered. */
    Exchange writing() {
        Exchange last = exchanges.peekLast();
        return last == null ? Exchange.UNTIMED : last;
    }

    /** The request whose answer is read. */
    Exchange reading() {
        Exchange first = exchanges.peek();
        return first == null ? Exchange.UNTIMED : first;
    }

    /** The connection serves the call no more; the call goes on, or ends by other means. */
    public void release(boolean reusable) {
        served.release(System.nanoTime(), reusable);
        served = Exchange.UNTIMED;
    }

    /**
     * The attempt ends and the call goes on elsewhere.
     *
     * @param why it is lost; null if it is answered
     */
    public void attemptEnded(boolean reusable, @Nullable Throwable why) {
        long at = System.nanoTime();
        if (served.release(at, reusable)) {
            served.step(timed -> timed.attemptEnd(at, why == null ? Outcome.OK : Outcome.ERROR, why));
        }
        served = Exchange.UNTIMED;
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
        if (connect.tunnels) {
            connect.failed(why);
        }
    }

    private static void fail(Exchange exchange, @Nullable Throwable why) {
        if (!exchange.release(System.nanoTime(), false)) {
            return;
        }
        if (why == null) {
            exchange.cancelled();
        } else {
            exchange.failed(why, NettyErrors::kindOf);
        }
    }

    /** The channel is closed, and the handlers above have processed that. */
    void closed() {
        Throwable why = error == null && !setup.endedByClient ? new ClosedChannelException() : error;
        exchanges.add(served);
        served = Exchange.UNTIMED;
        error = null;
        for (Exchange each = exchanges.poll(); each != null; each = exchanges.poll()) {
            fail(each, why);
        }
    }

    /** The head is being written, or was just now, on this thread and in the scope of its tracer. */
    public void requestWrite() {
        served.requestWrite();
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
        } else if (!exchanges.isEmpty()) {
            List.copyOf(exchanges).forEach(step);
        }
    }

    void read() {
        Exchange first = exchanges.peek();
        if (first != null && first.isOpen()) {
            lastRead = System.nanoTime();
            first.read(lastRead);
        }
    }

    /** The head of the final answer was read. */
    void head(HttpResponse response) {
        Exchange exchange = reading();
        if (exchange.isTimed()) {
            int status = response.status().code();
            boolean empty = status == 204
                    || status == 304
                    || "0".equals(response.headers().get(HttpHeaderNames.CONTENT_LENGTH));
            exchange.head(status, empty, lastRead, exchanges.size() == 1);
        }
    }

    /**
     * The answer is read: its last byte came with the last read.
     *
     * @param reusable whether the connection can carry another request
     * @return the exchange whose call this ends, or null
     */
    @Nullable
    Exchange responseRead(long received, boolean reusable) {
        Exchange exchange = exchanges.poll();
        if (exchange == null || !exchange.isOpen()) {
            freeSince = System.nanoTime();
            return null;
        }
        freeSince = lastRead;
        exchange.responseEnd(lastRead, received);
        if (setup.endedByClient || !exchange.release(lastRead, reusable && channel.isActive())) {
            return null;
        }
        if (served == exchange) {
            served = Exchange.UNTIMED;
        }
        return exchange;
    }
}
