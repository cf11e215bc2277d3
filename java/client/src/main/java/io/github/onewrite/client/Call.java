package io.github.onewrite.client;

import io.github.onewrite.Phase;
import io.github.onewrite.netty.internal.Exchange;
import io.github.onewrite.netty.internal.NettyErrors;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.ByteBufInputStream;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelPipeline;
import io.netty.channel.DefaultFileRegion;
import io.netty.handler.codec.CodecException;
import io.netty.handler.codec.DecoderException;
import io.netty.handler.codec.PrematureChannelClosureException;
import io.netty.handler.codec.http.FullHttpRequest;
import io.netty.handler.codec.http.HttpChunkedInput;
import io.netty.handler.codec.http.HttpContent;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpObject;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpResponse;
import io.netty.handler.codec.http.HttpUtil;
import io.netty.handler.codec.http.LastHttpContent;
import io.netty.handler.proxy.HttpProxyHandler;
import io.netty.handler.ssl.SslHandler;
import io.netty.handler.stream.ChunkedInput;
import io.netty.handler.stream.ChunkedNioFile;
import io.netty.handler.stream.ChunkedStream;
import io.netty.handler.stream.ChunkedWriteHandler;
import io.netty.util.concurrent.Future;
import java.io.EOFException;
import java.io.IOException;
import java.net.SocketTimeoutException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/**
 * One call: waits for a channel of the pool, sends the request, reads the response and gives the channel back. Confined to
 * the pool's event loop, except for {@link #start} and {@link #onLoop}.
 */
abstract class Call<T> implements Runnable {
    private static final int PIECE = 256 * 1024;
    private static final int FILE_PIECE = 64 * 1024;

    final OnewriteClientBuilder settings;
    final Exchange timing;
    private final CompletableFuture<T> future = new CompletableFuture<>();
    private final OriginPool pool;

    /** Null when the call is over, and so is the message. */
    private @Nullable Request request;

    private @Nullable HttpRequest message;
    private @Nullable Connection connection;
    private @Nullable Published published;
    private @Nullable Future<?> callLimit;
    private @Nullable Future<?> queueLimit;
    private boolean sent;
    private boolean headRead;
    private boolean responseRead;
    private boolean reusable;
    private boolean answered;

    Call(OriginPool pool, Request request, HttpRequest message, Exchange timing) {
        this.settings = pool.settings;
        this.pool = pool;
        this.request = request;
        this.message = message;
        this.timing = timing;
        future.whenComplete((value, why) -> {
            if (!answered && !isOver()) {
                onLoop(this::abandon); // completed by the caller
            }
        });
    }

    /** The head of the final response was read. */
    abstract void head(int status, HttpHeaders headers);

    abstract void content(ByteBuf bytes);

    /** Whether the rest of the body is wanted now. */
    abstract boolean wantsMore();

    /** The response is read to its end. */
    abstract void ended();

    /** The call failed, and so did its future, unless it was complete. */
    void failed(Throwable why) {}

    /**
     * Hands the call to its event loop.
     *
     * @throws RejectedExecutionException when the event loop is shut down
     */
    final CompletableFuture<T> start() {
        timing.ownedBy(pool.loop());
        pool.loop().execute(this);
        return future;
    }

    @Override
    public final void run() {
        Request of = request;
        if (of == null) {
            return;
        }
        try {
            long limit = of.timeout == null ? settings.callTimeout : OnewriteClientBuilder.nanos(of.timeout);
            if (limit > 0) {
                callLimit = schedule(() -> overdue("was not over", limit), limit);
            }
            pool.acquire(this);
        } catch (Throwable e) {
            fail(e);
        }
    }

    private Future<?> schedule(Runnable step, long nanos) {
        return pool.loop().schedule(step, nanos, TimeUnit.NANOSECONDS);
    }

    /** No connection is free. */
    final void waits() {
        long at = System.nanoTime();
        timing.step(record -> record.begin(Phase.QUEUE, at));
        if (settings.queueTimeout > 0) {
            String why = "Acquire operation took longer then configured maximum time"; // Netty's own
            queueLimit = schedule(() -> fail(new TimeoutException(why)), settings.queueTimeout);
        }
    }

    /** One is free now. */
    final void waited() {
        long at = System.nanoTime();
        timing.step(record -> record.end(Phase.QUEUE, at));
        cancel(queueLimit);
    }

    private static void cancel(@Nullable Future<?> limit) {
        if (limit != null) {
            limit.cancel(false);
        }
    }

    final boolean isOver() {
        return request == null;
    }

    final void acquired(Connection given) {
        try {
            connection = given;
            given.begin(this);
            if (pool.isSecure()) {
                HttpProxyHandler tunnel = channel().pipeline().get(HttpProxyHandler.class);
                Future<?> tls = channel().pipeline().get(SslHandler.class).handshakeFuture();
                after(tunnel == null ? tls : tunnel.connectFuture(), () -> after(tls, this::send));
            } else {
                send();
            }
        } catch (Throwable e) {
            fail(e);
        }
    }

    private void after(Future<?> step, Runnable next) {
        step.addListener(done -> {
            if (done.isSuccess()) {
                next.run();
            } else {
                fail(done.cause());
            }
        });
    }

    private void send() {
        Request of = request;
        HttpRequest head = message;
        if (of == null || head == null) {
            return;
        }
        Body body = of.body();
        reusable = HttpUtil.isKeepAlive(head);
        try {
            if (head instanceof FullHttpRequest) {
                writeLast(head);
            } else if (body.bytes != null) {
                write(head);
                ByteBufInputStream bytes = new ByteBufInputStream(Unpooled.wrappedBuffer(body.bytes));
                writeLast(chunked(new ChunkedStream(bytes, PIECE)));
            } else if (body.file != null) {
                sendFile(head, body.file);
            } else {
                write(head);
                published = new Published(this, Objects.requireNonNull(body.publisher));
                published.subscribe();
                channel().flush();
            }
        } catch (Throwable e) {
            fail(e);
        }
    }

    /** By sendfile on a plain connection; in pieces over TLS. */
    private void sendFile(HttpRequest head, Path path) throws IOException {
        if (!Files.isRegularFile(path)) {
            throw new IOException(path + " is not a regular file");
        }
        FileChannel file = FileChannel.open(path, StandardOpenOption.READ);
        try {
            long size = file.size();
            Request.announce(head.headers(), size);
            write(head);
            if (!pool.isSecure()) {
                write(new DefaultFileRegion(file, 0, size));
                writeLast(LastHttpContent.EMPTY_LAST_CONTENT);
                return;
            }
            writeLast(chunked(new ChunkedNioFile(file, 0, size, FILE_PIECE) {
                @Override
                public ByteBuf readChunk(ByteBufAllocator allocator) throws Exception {
                    ByteBuf piece = super.readChunk(allocator);
                    if (piece == null || piece.isReadable()) {
                        return piece;
                    }
                    piece.release();
                    throw new EOFException(path + " is shorter than " + size + " bytes"); // Netty would read for ever
                }
            }));
        } catch (Throwable e) {
            file.close();
            throw e;
        }
    }

    private HttpChunkedInput chunked(ChunkedInput<ByteBuf> pieces) {
        ChannelPipeline pipeline = channel().pipeline();
        if (pipeline.get(ChunkedWriteHandler.class) == null) {
            pipeline.addBefore(pipeline.context(Connection.class).name(), null, new ChunkedWriteHandler());
        }
        return new HttpChunkedInput(pieces);
    }

    final void write(Object part) {
        after(channel().write(part), () -> {});
    }

    final void writeLast(Object part) {
        after(channel().writeAndFlush(part), () -> {
            sent = true;
            if (!headRead && !isOver()) {
                connection().limit(settings.responseTimeout);
            }
        });
    }

    /** The channel takes more bytes, or no more. */
    final void writabilityChanged() {
        if (published != null) {
            published.pull();
        }
    }

    final void read(HttpObject part) {
        if (responseRead) {
            reusable = false; // bytes that belong to no request
            return;
        }
        Throwable malformed = part.decoderResult().cause();
        if (malformed != null) {
            fail(malformed instanceof CodecException ? malformed : new DecoderException(malformed));
            return;
        }
        if (part instanceof HttpResponse response) {
            int status = response.status().code();
            if (status < 200 && status != 101) {
                return; // interim, and so is the content that follows it
            }
            headRead = true;
            reusable &= status != 101 && HttpUtil.isKeepAlive(response);
            connection().limit(0);
            head(status, response.headers());
        }
        if (headRead && !isOver() && part instanceof HttpContent content) {
            content(content.content());
            responseRead = part instanceof LastHttpContent;
        }
    }

    /**
     * All bytes read are decoded. A complete response is passed on only now: a connection with more bytes behind it must
     * not be used again.
     */
    final void readComplete() {
        if (isOver()) {
            return;
        }
        if (responseRead) {
            long at = leave(reusable && sent);
            ended();
            // A slow hook delays nobody who waits for the response.
            timingEnds(at);
        } else if (headRead) {
            connection().limit(wantsMore() ? settings.idleReadTimeout : 0);
        }
    }

    /** The channel is closed. */
    final void closed() {
        if (responseRead) {
            readComplete();
            return;
        }
        fail(new PrematureChannelClosureException(pool + " closed the connection before the response was complete"));
    }

    /** The limit of the response, or of the silence in its body, is over. */
    final void overdue() {
        if (headRead) {
            overdue("got no bytes of the response's body", settings.idleReadTimeout);
        } else {
            overdue("got no response", settings.responseTimeout);
        }
    }

    private void overdue(String what, long nanos) {
        fail(new SocketTimeoutException(
                "the call to " + pool + " " + what + " in " + TimeUnit.NANOSECONDS.toMillis(nanos) + " ms"));
    }

    /** Returns false where the caller has completed the future. */
    final boolean answer(T value) {
        answered = true; // before the callbacks of the future run
        answered = future.complete(value);
        return answered;
    }

    /** The record says what the caller saw: it may have cancelled on another thread since. */
    private void timingEnds(long at) {
        if (answered) {
            timing.completed(at);
        } else {
            timing.cancelled();
        }
    }

    final void fail(Throwable why) {
        if (!isOver()) {
            leave(false);
            boolean seen = future.completeExceptionally(why) || answered;
            failed(why);
            if (seen) {
                timing.failed(why, NettyErrors::kindOf);
            } else {
                timing.cancelled();
            }
        }
    }

    /** The caller wants nothing more. */
    final void abandon() {
        if (!isOver()) {
            timingEnds(leave(false));
        }
    }

    /** From now on the socket is read only on demand. */
    final void readOnDemand() {
        channel().config().setAutoRead(false);
    }

    final void readMore() {
        if (!isOver()) {
            connection().limit(settings.idleReadTimeout);
            channel().read();
        }
    }

    /** Runs a step there. A loop that is shut down has ended the call: what is left is to signal it. */
    final void onLoop(Runnable step) {
        if (pool.loop().inEventLoop()) {
            step.run();
            return;
        }
        try {
            pool.loop().execute(step);
        } catch (RejectedExecutionException e) {
            step.run();
        }
    }

    /**
     * Ends the call, and gives its channel back or closes it. Nothing refers to its request any more.
     *
     * @return now, of {@link System#nanoTime}
     */
    private long leave(boolean keep) {
        long at = System.nanoTime();
        message = null;
        request = null;
        cancel(callLimit);
        cancel(queueLimit);
        if (published != null) {
            published.cancel();
        }
        if (connection == null) {
            pool.left(this);
        } else {
            connection.end(keep, at);
            pool.giveBack(connection);
        }
        return at;
    }

    private Connection connection() {
        return Objects.requireNonNull(connection, "no connection");
    }

    final Channel channel() {
        return connection().channel;
    }
}
