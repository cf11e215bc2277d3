package io.github.onewrite.client;

import io.github.onewrite.ErrorKind;
import io.github.onewrite.OnewriteException;
import io.github.onewrite.Status;
import io.github.onewrite.client.internal.BufferedSink;
import io.github.onewrite.client.internal.Call;
import io.github.onewrite.client.internal.CallFuture;
import io.github.onewrite.client.internal.ClientSettings;
import io.github.onewrite.client.internal.Durations;
import io.github.onewrite.client.internal.OnLoop;
import io.github.onewrite.client.internal.Origin;
import io.github.onewrite.client.internal.OriginPool;
import io.github.onewrite.client.internal.Pools;
import io.github.onewrite.client.internal.PreparedRequest;
import io.github.onewrite.client.internal.ResponseSink;
import io.github.onewrite.client.internal.StreamedSink;
import io.github.onewrite.client.internal.Transport;
import io.github.onewrite.netty.OnewriteNetty;
import io.github.onewrite.Redaction;
import io.netty.channel.EventLoop;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * An HTTP/1.1 client. A request with its body leaves in one write on a connection that has TCP_NODELAY. Thread-safe;
 * build one and share it.
 *
 * <p>A request is sent again at most once, and only when that is safe: it is idempotent (RFC 9110, 9.2.2), its body can
 * be sent again, and a reused connection was lost before the response began. A POST is never delivered twice. There are
 * no redirects, cookies or caches.
 *
 * <p>Futures fail with {@link OnewriteException}. They are completed on an event loop unless the client was built with
 * a callback executor: what depends on them must not block.
 */
public final class OnewriteClient implements AutoCloseable {
    private static final Duration DRAIN = Duration.ofSeconds(5);

    private final ClientSettings settings;
    private final Transport transport;
    private final OnewriteNetty onewrite;
    private final Pools pools;

    OnewriteClient(ClientSettings settings, Transport transport, OnewriteNetty onewrite) {
        this.settings = settings;
        this.transport = transport;
        this.onewrite = onewrite;
        this.pools = new Pools(settings, transport);
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
        CallFuture<Response> future = new CallFuture<>(settings.callbackExecutor());
        start(request, future, new BufferedSink(future, settings.maxBody()));
        return future;
    }

    /** Builds the request and sends it. */
    public CompletableFuture<Response> send(Request.Builder request) {
        return send(request.build());
    }

    /**
     * Sends a request; the future completes with the response's headers. Its body is to be read or closed. A response
     * that finds the future cancelled, or completed by other means, is closed.
     */
    public CompletableFuture<StreamedResponse> stream(Request request) {
        CallFuture<StreamedResponse> future = new CallFuture<>(settings.callbackExecutor());
        start(request, future, new StreamedSink(future));
        return future;
    }

    /**
     * Sends a request and waits for the response. An interrupt cancels the call.
     *
     * @throws OnewriteException when the call fails
     * @throws InterruptedIOException when the thread is interrupted
     * @throws IllegalStateException on an event loop of this client, which would wait for itself
     */
    public Response execute(Request request) throws IOException {
        for (EventLoop loop : pools.loops()) {
            if (loop.inEventLoop()) {
                throw new IllegalStateException("execute would block the event loop: use send there");
            }
        }
        CompletableFuture<Response> future = send(request);
        try {
            return future.get();
        } catch (InterruptedException e) {
            future.cancel(true);
            Thread.currentThread().interrupt();
            InterruptedIOException interrupted =
                    new InterruptedIOException("interrupted while waiting for " + Redaction.of(request.url()));
            interrupted.initCause(e);
            throw interrupted;
        } catch (ExecutionException e) {
            if (e.getCause() instanceof OnewriteException failed) {
                throw failed;
            }
            throw new OnewriteException(ErrorKind.OTHER, "the call failed: " + e.getCause(), e.getCause());
        }
    }

    /**
     * Builds the request, sends it and waits.
     *
     * @throws OnewriteException when the call fails
     * @throws InterruptedIOException when the thread is interrupted
     */
    public Response execute(Request.Builder request) throws IOException {
        return execute(request.build());
    }

    /** Connections and waiting calls, of all origins together. */
    public PoolStats stats() {
        return PoolStats.sum(pools.all().stream().map(OriginPool::stats), pools.opened());
    }

    /**
     * Connections and waiting calls by origin, such as {@code https://example.org:443}. An origin that has neither is
     * not listed, and begins anew when it is called again.
     */
    public Map<String, PoolStats> statsByOrigin() {
        Map<String, PoolStats> byOrigin = new LinkedHashMap<>();
        pools.all().forEach(pool -> byOrigin.put(pool.origin().toString(), pool.stats()));
        return byOrigin;
    }

    /** Tells which switches are on or off, and why. */
    public Status status() {
        return onewrite.status();
    }

    /** How many times a timing hook has thrown. */
    public long hookFailures() {
        return onewrite.hookFailures();
    }

    /** Closes the client: {@link #close(Duration)} with 5 s. */
    @Override
    public void close() {
        close(DRAIN);
    }

    /**
     * Takes no new calls, fails those that wait for a connection, lets those that have one come to their end, and
     * closes what is left when the time is over. Blocks until then; call it from a thread of your own. A second close
     * has no effect.
     */
    public void close(Duration drain) {
        if (!pools.close()) {
            return;
        }
        List<CompletableFuture<?>> drained = new ArrayList<>();
        for (OriginPool pool : pools.all()) {
            CompletableFuture<Void> done = new CompletableFuture<>();
            if (OnLoop.ifItRuns(pool.loop(), () -> pool.drain().thenRun(() -> done.complete(null)))) {
                drained.add(done);
            } else {
                pool.loopIsGone();
            }
        }
        CompletableFuture<Void> all = CompletableFuture.allOf(drained.toArray(CompletableFuture[]::new));
        try {
            all.get(Durations.nanos(drain), TimeUnit.NANOSECONDS);
        } catch (TimeoutException e) {
            abort();
            await(all);
        } catch (InterruptedException e) {
            // The time is over: the remaining calls fail now.
            abort();
            Thread.currentThread().interrupt();
        } catch (ExecutionException e) {
            throw new AssertionError("draining does not fail", e);
        }
        settings.lookups().close();
        if (transport.owned()) {
            transport.group().shutdownGracefully(0, 1, TimeUnit.SECONDS);
        }
    }

    private void abort() {
        pools.all().forEach(pool -> OnLoop.ifItRuns(pool.loop(), pool::abort));
    }

    private static void await(CompletableFuture<Void> all) {
        try {
            all.get(1, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (ExecutionException | TimeoutException e) {
            System.getLogger("io.github.onewrite")
                    .log(System.Logger.Level.WARNING, "connections were left when the client was closed");
        }
    }

    private void start(Request request, CallFuture<?> future, ResponseSink sink) {
        Objects.requireNonNull(request, "request");
        OnewriteNetty.Call timing = onewrite.begin(request.method(), request.url(), request.tag());
        try {
            PreparedRequest prepared = request.prepare();
            mustBeOpen();
            Origin origin = prepared.target().origin();
            if (origin.tls()) {
                settings.tls().get();
            }
            OriginPool pool = pools.of(origin);
            // Checked again after the pool was added: either this sees the close, or the close sees the pool.
            mustBeOpen();
            Call call = new Call(pool, prepared, timing, sink);
            future.of(call);
            if (pool.loop().inEventLoop()) {
                call.run();
            } else {
                pool.loop().execute(call);
            }
        } catch (OnewriteException refused) {
            refuse(refused, timing, future);
        } catch (RejectedExecutionException e) {
            // The client was closed between the check and here.
            refuse(new OnewriteException(ErrorKind.POOL, "the client is closed", e), timing, future);
        }
    }

    private void mustBeOpen() throws OnewriteException {
        if (pools.isClosed()) {
            throw new OnewriteException(ErrorKind.POOL, "the client is closed");
        }
    }

    private static void refuse(OnewriteException why, OnewriteNetty.Call timing, CallFuture<?> future) {
        timing.failed(why);
        future.fail(why);
    }
}
