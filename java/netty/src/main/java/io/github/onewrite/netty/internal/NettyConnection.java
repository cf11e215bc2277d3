package io.github.onewrite.netty.internal;

import io.github.onewrite.ErrorKind;
import io.github.onewrite.internal.ErrorKinds;
import io.github.onewrite.internal.Hooks;
import io.github.onewrite.internal.Moment;
import io.github.onewrite.internal.Stamps;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandler;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.proxy.ProxyHandler;
import io.netty.handler.ssl.SslHandler;
import io.netty.handler.timeout.ReadTimeoutException;
import io.netty.handler.timeout.ReadTimeoutHandler;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.nio.channels.ClosedChannelException;
import java.util.ArrayDeque;
import java.util.Map;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * A channel whose requests are timed, with the requests that have no complete answer, in order: so those that are pipelined
 * get their own answers. Its methods are called on the event loop of the channel.
 */
public final class NettyConnection {
    private static final long WORTH_READING_NANOS = TimeUnit.MILLISECONDS.toNanos(1);

    private final long number = Stamps.nextConnectionId();
    private final NettySetup setup;
    private final Channel channel;
    private final @Nullable KernelProbe probe;
    private final ArrayDeque<Exchange> exchanges = new ArrayDeque<>(2);

    /** The channel was asked for, and the request is not written yet. */
    private @Nullable Exchange requested;

    /** Its head was written, and its end was not. */
    private @Nullable Exchange writing;

    // Of System.nanoTime; 0 is not, or not yet.
    private long looking;
    private long connecting;
    private long connected;
    private long securing;
    private long secured;

    /** Of the answer that is read. */
    private long firstRead;

    private long interimRead;
    private long lastRead;

    /** When the last answer ended. */
    private long free;

    private boolean interim;
    private boolean closing;
    private boolean tunnels;
    private int requests;
    private @Nullable Throwable error;
    private @Nullable String authority;
    private String origin = "";
    private @Nullable String proxy;

    NettyConnection(NettySetup setup, Channel channel) {
        this.setup = setup;
        this.channel = channel;
        this.probe = KernelProbe.isNative(channel) ? new KernelProbe(channel) : null;
    }

    /** The connection of a channel; null where its requests are not timed. */
    public static @Nullable NettyConnection of(Channel channel) {
        return channel.attr(NettySetup.KEY).get() instanceof NettyConnection connection ? connection : null;
    }

    /** The name of the server is looked up for this channel, from now on. */
    public void lookingUp() {
        looking = System.nanoTime();
    }

    /** An earlier channel, to another address of the same name, could not be connected. */
    public void continuesFrom(NettyConnection earlier) {
        looking = earlier.looking;
        connecting = earlier.connecting;
    }

    void connecting() {
        connecting = connecting == 0 ? System.nanoTime() : connecting;
        for (Map.Entry<String, ChannelHandler> each : channel.pipeline()) {
            // By name: Netty's proxy handlers are an optional dependency. One of them adds its own codec, too.
            if (proxy == null && each.getValue().getClass().getName().startsWith("io.netty.handler.proxy.")) {
                tunnels = true;
                proxy = address(Proxies.of(each.getValue()));
            }
        }
    }

    /** Loaded where a pipeline has such a handler. */
    private static final class Proxies {
        static @Nullable SocketAddress of(ChannelHandler handler) {
            return handler instanceof ProxyHandler proxy ? proxy.proxyAddress() : null;
        }
    }

    /** The socket is connected; a proxy handler lets this pass before its tunnel is open. */
    void active() {
        if (!tunnels && connected == 0) {
            connected();
        }
    }

    /** The socket is connected, and the tunnel is open if there is one. The handshake begins. */
    void connected() {
        connected = System.nanoTime();
        SslHandler tls = channel.pipeline().get(SslHandler.class);
        if (tls != null) {
            securing = connected;
            // Before the event of its end: the program may write as soon as it knows.
            tls.handshakeFuture().addListener(done -> {
                if (done.isSuccess()) {
                    secured();
                } else {
                    error(done.cause());
                }
            });
        }
    }

    void secured() {
        if (secured == 0) {
            secured = System.nanoTime();
            securing = securing == 0 ? connected : securing;
        }
    }

    /** Whether a request can be sent: a program may write before. */
    private boolean isReady() {
        return connecting == 0 || (connected != 0 && (securing == 0 || secured != 0));
    }

    /** The codec is there, with which the handlers came: they have seen nothing of a handshake before. */
    void readyLate() {
        SslHandler tls = channel.pipeline().get(SslHandler.class);
        if (tls != null && tls.handshakeFuture().isSuccess()) {
            secured();
        }
    }

    /** A request was written before the handlers were in place. */
    void missed() {
        requests++;
    }

    /**
     * The next request on this connection was asked for then: its record begins there, and has the wait for the connection.
     *
     * @param byHook a hook asked: the request has no record
     * @param resend how many times it was sent before
     * @return the record, null where there is none
     */
    public @Nullable Stamps requested(long askedAt, boolean byHook, int resend) {
        Exchange exchange = exchange(!byHook, askedAt, System.nanoTime());
        exchange.resend = resend;
        requested = exchange;
        if (requests > 0 && free > askedAt) {
            exchange.stamp(Moment.QUEUE_START, askedAt); // The connection was in use.
            exchange.stamp(Moment.QUEUE_END, exchange.at(Moment.CONNECTION_ACQUIRED));
        }
        return exchange.isTimed ? exchange : null;
    }

    private Exchange exchange(boolean isTimed, long startedAt, long acquiredAt) {
        Exchange exchange = new Exchange(this, startedAt, isTimed);
        exchange.stamp(Moment.CONNECTION_ACQUIRED, acquiredAt);
        exchange.idle = free == 0 ? -1 : Math.max(0, acquiredAt - free);
        return exchange;
    }

    /** The head of a request is about to be written. */
    Exchange begin(HttpRequest request) {
        boolean isTunnel = request.method().equals(HttpMethod.CONNECT);
        Exchange exchange = requested;
        if (exchange == null || isTunnel) {
            long now = System.nanoTime();
            exchange = exchange(!isTunnel && !Hooks.running(), now, now);
        } else {
            requested = null;
        }
        if (exchanges.isEmpty()) {
            error = null;
        }
        exchanges.add(exchange);
        writing = exchange;
        tunnels |= isTunnel;
        if (isTunnel) {
            return exchange;
        }
        requests++;
        exchange.connection = number;
        exchange.requests = requests;
        exchange.method = request.method().name();
        exchange.target = request.uri();
        exchange.upgrades = request.headers().contains(HttpHeaderNames.UPGRADE);
        boolean absolute = !exchange.target.startsWith("/");
        exchange.origin = absolute ? "" : origin(request);
        if (proxy == null && (absolute || tunnels)) {
            proxy = address(channel.remoteAddress());
        }
        if (probe != null) {
            probe.begin();
        }
        return exchange;
    }

    private String origin(HttpRequest request) {
        String host = request.headers().get(HttpHeaderNames.HOST, "");
        if (!host.equals(authority)) {
            authority = host;
            origin = (channel.pipeline().get(SslHandler.class) == null ? "http://" : "https://") + host;
        }
        return origin;
    }

    private static @Nullable String address(@Nullable SocketAddress remote) {
        if (!(remote instanceof InetSocketAddress address)) {
            return null;
        }
        String host = address.getHostString();
        return (host.indexOf(':') < 0 ? host : "[" + host + "]") + ":" + address.getPort();
    }

    /** The request that is written, until its end was. */
    @Nullable
    Exchange writing() {
        return writing;
    }

    /** The end of the request was written. */
    void written() {
        writing = null;
    }

    /** The codec wrote bytes of the request. */
    void wrote(long bytes) {
        Exchange exchange = writing;
        if (exchange != null) {
            exchange.bytesSent = Math.max(0, exchange.bytesSent) + bytes;
            if (securing != 0 && exchange.requests == 1 && exchange.at(Moment.REQUEST_START) == 0) {
                // SslHandler flushes when its handshake ends, and calls no flush here.
                exchange.stamp(Moment.REQUEST_START, System.nanoTime());
            }
            exchange.pending |= bytes > 0;
        }
    }

    /** The bytes that the codec wrote are about to be flushed. */
    void flushes() {
        if (exchanges.size() == 1) {
            flushes(exchanges.element());
        } else {
            exchanges.forEach(NettyConnection::flushes);
        }
    }

    private static void flushes(Exchange exchange) {
        if (exchange.pending) {
            exchange.pending = false;
            exchange.writes = Math.max(0, exchange.writes) + 1;
            if (exchange.isTimed && exchange.at(Moment.REQUEST_START) == 0) {
                exchange.stamp(Moment.REQUEST_START, System.nanoTime());
            }
        }
    }

    /** The last write of the request returned. */
    void sent(Exchange exchange) {
        if (exchange.isTimed) {
            exchange.stamp(Moment.REQUEST_END, System.nanoTime());
        }
    }

    /** A write of the request failed; where the channel had an error before, that is the reason. */
    void notSent(Exchange exchange, Throwable why) {
        if (exchanges.remove(exchange)) {
            end(exchange, closing ? ErrorKind.CANCELLED : kindOf(error == null ? why : error));
            deliver(exchange);
        }
    }

    /** Bytes were read. */
    void read() {
        Exchange exchange = exchanges.peek();
        if (exchange != null && exchange.isTimed) {
            lastRead = System.nanoTime();
            firstRead = firstRead == 0 ? lastRead : firstRead;
        }
    }

    /** The head of a response was decoded. */
    void head(int status, boolean isInterim) {
        interim = isInterim;
        if (isInterim) {
            interimRead = firstRead;
            firstRead = 0;
        } else {
            // A head that came with the end of another response has no read of its own.
            answer(status, firstRead == 0 ? lastRead : firstRead);
        }
    }

    /**
     * The program takes the response whose head is being passed on as the answer, although it is an interim one: Reactor
     * Netty does so. Nothing changes for a final one.
     */
    public void answered(int status) {
        if (interim) {
            interim = false;
            answer(status, interimRead);
        }
    }

    private void answer(int status, long firstByte) {
        Exchange exchange = exchanges.peek();
        if (exchange == null || !exchange.isTimed) {
            return;
        }
        exchange.stamp(Moment.RESPONSE_START, firstByte);
        exchange.stamp(Moment.HEADERS_END, lastRead);
        exchange.status = status;
        exchange.bytesReceived = 0;
        long sent = exchange.at(Moment.REQUEST_END);
        if (probe != null && exchanges.size() == 1 && sent != 0 && firstByte - sent >= WORTH_READING_NANOS) {
            probe.end(exchange);
        }
    }

    boolean isInterim() {
        return interim;
    }

    void body(int bytes) {
        Exchange exchange = exchanges.peek();
        if (exchange != null) {
            exchange.bytesReceived += bytes;
        }
    }

    /**
     * The response is complete: its last byte came with the last read.
     *
     * @return the request that this ends, which is to be delivered; null where there is none
     */
    @Nullable
    Exchange complete() {
        Exchange exchange = exchanges.poll();
        firstRead = 0;
        free = lastRead;
        if (exchange == null || !exchange.isTimed) {
            return null;
        }
        exchange.stamp(Moment.RESPONSE_END, lastRead);
        exchange.stamp(Moment.CONNECTION_RELEASED, lastRead);
        addConnect(exchange);
        exchange.end(lastRead);
        leave(exchange);
        return exchange;
    }

    /**
     * The connection speaks another protocol from now on, if the request asked for that: then it has no record.
     *
     * @return whether it did
     */
    boolean upgraded() {
        Exchange exchange = exchanges.peek();
        if (exchange == null || !exchange.upgrades) {
            return false;
        }
        exchanges.remove();
        leave(exchange);
        return true;
    }

    /** Bytes of it that are written from now on are not counted. */
    private void leave(Exchange exchange) {
        exchange.leave();
        if (writing == exchange) {
            writing = null;
        }
    }

    /** The steps of the connect belong to the request that waited for them. */
    private void addConnect(Exchange exchange) {
        if (exchange.requests > 1) {
            exchange.proxy = proxy;
            return;
        }
        long begun = looking == 0 ? connecting : looking;
        if (begun > exchange.startedAt) {
            exchange.stamp(Moment.QUEUE_START, exchange.startedAt);
            exchange.stamp(Moment.QUEUE_END, begun);
        }
        copyConnect(exchange);
        long ready = Math.max(connected, secured);
        for (Moment each : new Moment[] {Moment.CONNECTION_ACQUIRED, Moment.REQUEST_START}) {
            if (!isReady()) {
                exchange.clear(each);
            } else if (exchange.at(each) != 0 && exchange.at(each) < ready) {
                exchange.stamp(each, ready);
            }
        }
    }

    /** Stamps the steps of the connect, as far as they got and the record had begun. */
    public void copyConnect(Stamps record) {
        record.proxy = proxy;
        copy(record, Moment.DNS_START, looking, Moment.DNS_END, connecting);
        copy(record, Moment.CONNECT_START, connecting, Moment.CONNECT_END, connected);
        copy(record, Moment.TLS_START, securing, Moment.TLS_END, secured);
    }

    private static void copy(Stamps record, Moment start, long from, Moment end, long to) {
        if (from != 0 && (to == 0 || to > record.startedAt)) {
            record.stamp(start, Math.max(from, record.startedAt));
            record.stamp(end, to);
        }
    }

    void deliver(Exchange ended) {
        if (ended.isTimed) {
            setup.deliver(ended);
        }
    }

    /**
     * The program's request failed, whether it was written or not. Hooks are called in a later task of the event loop: the
     * program closes the channel next.
     */
    public void failed(ErrorKind kind) {
        Exchange exchange = exchanges.isEmpty() ? requested : exchanges.poll();
        requested = null;
        if (exchange == null) {
            return;
        }
        end(exchange, kind);
        try {
            channel.eventLoop().execute(() -> deliver(exchange));
        } catch (RejectedExecutionException e) {
            deliver(exchange); // The loop is shut down.
        }
    }

    /**
     * The bytes that were read are no HTTP response.
     *
     * @return the request that this ends, which is to be delivered
     */
    @Nullable
    Exchange malformed(Throwable why) {
        error(why);
        Exchange exchange = exchanges.poll();
        if (exchange != null) {
            end(exchange, ErrorKind.PROTOCOL);
        }
        return exchange;
    }

    /** The first error counts: others follow from it. */
    void error(Throwable thrown) {
        if (error == null) {
            error = thrown;
        }
    }

    /** The program closes the channel, or a time limit of its pipeline does. */
    void closing() {
        if (!channel.isActive() || (exchanges.isEmpty() && !isAwaited())) {
            return;
        }
        if (error == null && isTimeUp()) {
            error = ReadTimeoutException.INSTANCE;
        }
        closing = error == null;
    }

    /** A ReadTimeoutHandler above the codec passes its exception upwards, and then closes: nothing below it sees more. */
    private boolean isTimeUp() {
        Exchange first = exchanges.peek();
        for (Map.Entry<String, ChannelHandler> each : channel.pipeline()) {
            if (first != null && each.getValue() instanceof ReadTimeoutHandler limit) {
                long since = Math.max(lastRead, first.at(Moment.CONNECTION_ACQUIRED));
                return System.nanoTime() - since >= TimeUnit.MILLISECONDS.toNanos(limit.getReaderIdleTimeInMillis());
            }
        }
        return false;
    }

    /** Somebody waits for a connection that is not ready. */
    private boolean isAwaited() {
        return requested != null && requests == 0 && !isReady();
    }

    void closed() {
        Exchange awaited = isAwaited() ? requested : null;
        if (awaited != null) {
            exchanges.add(awaited);
            requested = null;
        }
        ErrorKind kind = closing ? ErrorKind.CANCELLED : kindOf(error == null ? new ClosedChannelException() : error);
        for (Exchange each = exchanges.poll(); each != null; each = exchanges.poll()) {
            end(each, kind);
            deliver(each);
        }
    }

    private static ErrorKind kindOf(Throwable why) {
        return ErrorKinds.of(why, NettyErrors::kindOf);
    }

    private void end(Exchange exchange, ErrorKind kind) {
        if (exchange.isTimed) {
            addConnect(exchange);
            exchange.failed(kind, System.nanoTime());
        }
        leave(exchange);
    }
}
