package io.github.onewrite.client;

import io.github.onewrite.Status;
import io.github.onewrite.internal.Setup;
import io.github.onewrite.netty.internal.Exchange;
import io.github.onewrite.netty.internal.NettyErrors;
import io.github.onewrite.netty.internal.NettySetup;
import io.netty.channel.EventLoop;
import io.netty.channel.group.ChannelGroup;
import io.netty.channel.group.DefaultChannelGroup;
import io.netty.handler.codec.CodecException;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.util.concurrent.EventExecutor;
import io.netty.util.concurrent.Future;
import io.netty.util.concurrent.ImmediateEventExecutor;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;

/**
 * An HTTP/1.1 client on Netty's own parts: its channel pool, its codec, its proxy handler. A request with its body leaves
 * in one write on a connection that has TCP_NODELAY. Thread-safe; build one and share it.
 *
 * <p>A request is sent once. There are no redirects, cookies or caches.
 *
 * <p>Futures fail with the exceptions of Netty and the JDK. They are completed on an event loop: what depends on them must
 * not block.
 */
public final class OnewriteClient implements AutoCloseable {
    private final OnewriteClientBuilder settings;
    private final Transport transport;
    private final Setup setup;
    private final NettySetup netty;
    private final List<EventExecutor> loops = new ArrayList<>();
    final Map<Target.Origin, OriginPool> pools = new ConcurrentHashMap<>();

    /** Channels that connect after the close are closed at once. */
    private final ChannelGroup open = new DefaultChannelGroup(ImmediateEventExecutor.INSTANCE, true);

    private volatile boolean closed;

    OnewriteClient(OnewriteClientBuilder settings, Setup setup) {
        this.settings = settings;
        this.transport = Objects.requireNonNull(settings.transport);
        this.setup = setup;
        this.netty = new NettySetup(setup, true);
        transport.group().forEach(loops::add);
    }

    public static OnewriteClientBuilder builder() {
        return new OnewriteClientBuilder();
    }

    /** A client with all defaults. */
    public static OnewriteClient create() {
        return builder().build();
    }

    /**
     * Sends a request and collects the response in memory. Cancelling the future closes the connection, and so does
     * completing it by other means, such as orTimeout.
     */
    public CompletableFuture<Response> send(Request request) {
        return start(request, Collecting::new);
    }

    /** Builds the request and sends it. */
    public CompletableFuture<Response> send(Request.Builder request) {
        return send(request.build());
    }

    /**
     * Sends a request; the future completes with the response's headers. Read or close its body. A response that arrives
     * after the future was cancelled, or completed by other means, is closed.
     */
    public CompletableFuture<StreamedResponse> stream(Request request) {
        return start(request, Streaming::new);
    }

    /**
     * Sends a request and waits for the response. An interrupt cancels the call.
     *
     * @throws IOException when the call fails; the cause is Netty's exception where that is no IOException
     * @throws IllegalArgumentException when the request cannot be sent
     * @throws InterruptedIOException when the thread is interrupted
     * @throws IllegalStateException on an event loop of this client, which would wait for itself
     */
    public Response execute(Request request) throws IOException {
        if (isOnLoop()) {
            throw new IllegalStateException("execute would block the event loop: use send there");
        }
        CompletableFuture<Response> future = send(request);
        try {
            return future.get();
        } catch (InterruptedException e) {
            future.cancel(true);
            Thread.currentThread().interrupt();
            throw new InterruptedIOException("interrupted while waiting for a response");
        } catch (ExecutionException e) {
            Throwable cause = Objects.requireNonNull(e.getCause());
            if (cause instanceof IOException failed) {
                throw failed;
            }
            if (cause instanceof RuntimeException failed && !(cause instanceof CodecException)) {
                throw failed;
            }
            throw new IOException(cause.toString(), cause);
        }
    }

    /** Builds the request, sends it and waits. */
    public Response execute(Request.Builder request) throws IOException {
        return execute(request.build());
    }

    /** Tells which switches are on or off, and why. */
    public Status status() {
        return setup.status();
    }

    private boolean isOnLoop() {
        for (int i = 0; i < loops.size(); i++) { // no iterator is allocated
            if (loops.get(i).inEventLoop()) {
                return true;
            }
        }
        return false;
    }

    /**
     * Closes connections and the client's own event loops; calls under way fail. Hooks of calls that have ended are waited
     * for, but for no longer than a second. A second close has no effect.
     */
    @Override
    public void close() {
        closed = true;
        List<Future<?>> ends = new ArrayList<>();
        pools.values().forEach(pool -> ends.add(pool.end()));
        open.close().addListener(done -> {
            if (transport.owned()) {
                // Not before: a loop that is shut down may end without closing its channels.
                transport.group().shutdownGracefully(0, 1, TimeUnit.SECONDS);
            }
        });
        if (!isOnLoop()) {
            ends.forEach(end -> end.awaitUninterruptibly(1, TimeUnit.SECONDS));
        }
    }

    private interface Maker<T> {
        Call<T> make(OriginPool pool, Request request, HttpRequest message, Exchange timing);
    }

    /** An exception that is thrown here fails the call. */
    private <T> CompletableFuture<T> start(Request request, Maker<T> maker) {
        Exchange timing = netty.begin(request.method(), request.url(), request.tag);
        try {
            Target target = request.target();
            if (closed) {
                throw new IllegalStateException(OriginPool.CLOSED);
            }
            if (target.origin().tls()) {
                settings.tls(); // the first use blocks: not on the event loop
            }
            HttpRequest message = request.message(target, settings); // refused before a pool is made
            OriginPool known = pools.get(target.origin());
            OriginPool pool = known == null ? pools.computeIfAbsent(target.origin(), this::pool) : known;
            return maker.make(pool, request, message, timing).start();
        } catch (Throwable e) {
            timing.failed(e, NettyErrors::kindOf);
            return CompletableFuture.failedFuture(e);
        }
    }

    private OriginPool pool(Target.Origin origin) {
        EventLoop loop = transport.group().next();
        return new OriginPool(settings, origin, loop, transport.channels(), open, netty, pools);
    }
}
