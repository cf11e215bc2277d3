package io.github.onewrite.client;

import io.github.onewrite.netty.OnewriteNetty;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufInputStream;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.DefaultFileRegion;
import io.netty.handler.codec.CodecException;
import io.netty.handler.codec.DecoderException;
import io.netty.handler.codec.PrematureChannelClosureException;
import io.netty.handler.codec.http.DefaultFullHttpRequest;
import io.netty.handler.codec.http.DefaultHttpRequest;
import io.netty.handler.codec.http.EmptyHttpHeaders;
import io.netty.handler.codec.http.HttpChunkedInput;
import io.netty.handler.codec.http.HttpContent;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaderValues;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpObject;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpResponse;
import io.netty.handler.codec.http.HttpUtil;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.codec.http.LastHttpContent;
import io.netty.handler.stream.ChunkedNioFile;
import io.netty.handler.stream.ChunkedStream;
import io.netty.handler.stream.ChunkedWriteHandler;
import io.netty.util.concurrent.Future;
import java.io.IOException;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.Base64;
import java.util.Objects;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * One call: waits for a channel of the pool, sends the request, reads the response and gives the channel back. Confined to
 * the pool's event loop, except for {@link #start} and {@link #giveUp}.
 */
abstract class Exchange implements Runnable, ChannelFutureListener {
    /** A larger body in memory is written in pieces: the transport, or TLS, would copy all of it at once. */
    private static final int WHOLE = 1024 * 1024;

    private static final int PIECE = 256 * 1024;
    private static final int FILE_PIECE = 64 * 1024;

    private final Settings settings;
    private final Request request;
    private final OnewriteNetty.Call timing;
    private volatile @Nullable OriginPool pool;
    private @Nullable Connection connection;
    private java.util.concurrent.@Nullable Future<?> callLimit;
    private boolean queued;
    private boolean sent;
    private boolean interim;
    private boolean headRead;
    private boolean complete;
    private boolean reusable;
    private boolean over;

    Exchange(Settings settings, Request request, OnewriteNetty.Call timing) {
        this.settings = settings;
        this.request = request;
        this.timing = timing;
    }

    /** The head of the final response was read. */
    abstract void head(int status, HttpHeaders headers);

    abstract void content(ByteBuf bytes);

    /** Whether the rest of the body is wanted now. */
    abstract boolean wantsMore();

    /** The response is read to its end. */
    abstract void ended();

    abstract void failed(Throwable why);

    /** Hands the call to its event loop. */
    final void start(OriginPool of) {
        pool = of;
        if (of.loop().inEventLoop()) {
            run();
        } else {
            of.loop().execute(this);
        }
    }

    @Override
    public final void run() {
        if (over) {
            return;
        }
        try {
            Duration own = request.timeout();
            long limit = own == null ? settings.callTimeout() : Settings.nanos(own);
            if (limit > 0) {
                callLimit = pool().loop().schedule(() -> overdue("was not over", limit), limit, TimeUnit.NANOSECONDS);
            }
            pool().acquire(this);
        } catch (Throwable e) {
            fail(e);
        }
    }

    /** No connection is free: the call waits. */
    final void queued() {
        queued = true;
        timing.queueStart();
    }

    /** The pool makes a connection for this call. */
    final OnewriteNetty.Call connecting() {
        timing.queueEnd();
        return timing;
    }

    final void acquired(Future<? super Channel> result) {
        try {
            if (queued) {
                pool().noLongerWaits(this);
            }
            if (!result.isSuccess()) {
                fail(Objects.requireNonNull(result.cause()));
                return;
            }
            Channel channel = (Channel) Objects.requireNonNull(result.getNow());
            if (over) {
                pool().release(channel);
                return;
            }
            timing.queueEnd();
            connection = Connection.of(channel);
            connection.begin(this);
            timing.on(channel);
            send(connection.context());
        } catch (Throwable e) {
            fail(e);
        }
    }

    private void send(ChannelHandlerContext ctx) throws IOException {
        Request.Prepared prepared = request.prepare();
        boolean forwarded = settings.forwards(prepared.target().origin());
        String target =
                forwarded ? prepared.target().absolute() : prepared.target().path();
        HttpHeaders headers = headers(prepared, forwarded);
        Body body = request.body();
        ByteBuffer bytes = body.bytes;
        if (bytes != null && bytes.remaining() <= WHOLE) {
            ByteBuf content = bytes.hasRemaining() ? Unpooled.wrappedBuffer(bytes) : Unpooled.EMPTY_BUFFER;
            ctx.writeAndFlush(new DefaultFullHttpRequest(
                            HttpVersion.HTTP_1_1,
                            prepared.method(),
                            target,
                            content,
                            headers,
                            EmptyHttpHeaders.INSTANCE))
                    .addListener(this);
            return;
        }
        HttpRequest head = new DefaultHttpRequest(HttpVersion.HTTP_1_1, prepared.method(), target, headers);
        if (bytes != null) {
            addChunkedWriter(ctx);
            write(head);
            writeLast(new HttpChunkedInput(
                    new ChunkedStream(new ByteBufInputStream(Unpooled.wrappedBuffer(bytes)), PIECE)));
        } else if (body.file != null) {
            sendFile(ctx, head, body.file, prepared.target().origin().tls());
        } else {
            Published published = new Published(ctx);
            addChunkedWriter(ctx);
            // First, so that a chunk that is there at once leaves with the head.
            Objects.requireNonNull(body.publisher).subscribe(published);
            write(head);
            writeLast(new HttpChunkedInput(published));
        }
    }

    private HttpHeaders headers(Request.Prepared prepared, boolean forwarded) {
        HttpHeaders headers = prepared.headers();
        Proxy proxy = settings.proxy();
        String user = forwarded && proxy != null ? proxy.user() : null;
        if (user == null && !settings.decompress() && request.body().file == null) {
            return headers;
        }
        HttpHeaders own = headers.copy();
        if (user != null && proxy != null && !own.contains(HttpHeaderNames.PROXY_AUTHORIZATION)) {
            byte[] pair = (user + ":" + proxy.password()).getBytes(StandardCharsets.UTF_8);
            own.set(
                    HttpHeaderNames.PROXY_AUTHORIZATION,
                    "Basic " + Base64.getEncoder().encodeToString(pair));
        }
        if (settings.decompress() && !own.contains(HttpHeaderNames.ACCEPT_ENCODING)) {
            own.set(HttpHeaderNames.ACCEPT_ENCODING, "gzip, deflate");
        }
        return own;
    }

    /** By sendfile on a plain connection; in pieces over TLS. */
    private void sendFile(ChannelHandlerContext ctx, HttpRequest head, Path path, boolean tls) throws IOException {
        if (!Files.isRegularFile(path)) {
            throw new IOException(path + " is not a regular file");
        }
        FileChannel file = FileChannel.open(path, StandardOpenOption.READ);
        try {
            long size = file.size();
            if (!head.headers().contains(HttpHeaderNames.CONTENT_LENGTH)
                    && !head.headers().contains(HttpHeaderNames.TRANSFER_ENCODING)) {
                head.headers().set(HttpHeaderNames.CONTENT_LENGTH, Long.toString(size));
            }
            write(head);
            if (tls) {
                addChunkedWriter(ctx);
                writeLast(new HttpChunkedInput(new ChunkedNioFile(file, 0, size, FILE_PIECE)));
            } else {
                write(new DefaultFileRegion(file, 0, size));
                writeLast(LastHttpContent.EMPTY_LAST_CONTENT);
            }
        } catch (Throwable e) {
            file.close();
            throw e;
        }
    }

    private static void addChunkedWriter(ChannelHandlerContext ctx) {
        if (ctx.pipeline().get(ChunkedWriteHandler.class) == null) {
            ctx.pipeline().addBefore(ctx.name(), null, new ChunkedWriteHandler());
        }
    }

    private void write(Object message) {
        connection().context().write(message).addListener(written -> {
            if (!written.isSuccess()) {
                fail(written.cause());
            }
        });
    }

    private void writeLast(Object message) {
        connection().context().writeAndFlush(message).addListener(this);
    }

    /** The last write returned. */
    @Override
    public final void operationComplete(ChannelFuture last) {
        if (over) {
            return;
        }
        if (!last.isSuccess()) {
            fail(last.cause());
            return;
        }
        sent = true;
        if (!headRead) {
            connection().limit(settings.responseTimeout());
        }
    }

    final void read(HttpObject part) {
        if (complete) {
            reusable = false; // bytes that belong to no request
            return;
        }
        if (part.decoderResult().isFailure()) {
            Throwable cause = part.decoderResult().cause();
            fail(cause instanceof CodecException ? cause : new DecoderException(cause));
            return;
        }
        if (part instanceof HttpResponse response) {
            int status = response.status().code();
            interim = status < 200 && status != 101;
            if (!interim) {
                headRead = true;
                reusable = HttpUtil.isKeepAlive(response)
                        && status != 101
                        && !request.prepare()
                                .headers()
                                .containsValue(HttpHeaderNames.CONNECTION, HttpHeaderValues.CLOSE, true);
                connection().limit(0);
                head(status, response.headers());
            }
        }
        if (part instanceof HttpContent content && !interim && !over) {
            content(content.content());
            complete = part instanceof LastHttpContent;
        }
    }

    /**
     * All bytes read are decoded. A complete response is passed on only now: a connection with more bytes behind it must
     * not be used again.
     */
    final void readComplete() {
        if (over) {
            return;
        }
        if (complete) {
            try {
                leave(reusable && sent);
                timing.completed();
            } finally {
                ended();
            }
        } else if (headRead) {
            connection().limit(wantsMore() ? settings.idleReadTimeout() : 0);
        }
    }

    /** The channel is closed. */
    final void closed() {
        if (complete) {
            readComplete();
        } else {
            fail(new PrematureChannelClosureException(
                    origin() + " closed the connection before the response was complete"));
        }
    }

    /** The limit of the response, or of the silence in its body, is over. */
    final void overdue() {
        if (headRead) {
            overdue("got no bytes of the response's body", settings.idleReadTimeout());
        } else {
            overdue("got no response", settings.responseTimeout());
        }
    }

    private void overdue(String what, long nanos) {
        fail(new SocketTimeoutException(
                "the call to " + origin() + " " + what + " in " + TimeUnit.NANOSECONDS.toMillis(nanos) + " ms"));
    }

    private String origin() {
        return request.prepare().target().origin().toString();
    }

    final void fail(@Nullable Throwable why) {
        if (!over) {
            Throwable cause = Objects.requireNonNull(why);
            try {
                leave(false);
                timing.failed(cause);
            } finally {
                failed(cause);
            }
        }
    }

    /** Cancels the call; from any thread. */
    final void giveUp() {
        onLoop(() -> {
            if (!over) {
                leave(false);
                timing.cancelled();
            }
        });
    }

    /** The caller has the head and wants no more of the response. */
    final void abandon() {
        if (!over) {
            leave(false);
            timing.completed();
        }
    }

    /** The caller wants to read on; used while the caller's demand sets the pace. */
    final void readMore() {
        if (!over) {
            connection().limit(settings.idleReadTimeout());
            connection().channel().read();
        }
    }

    final void setAutoRead(boolean on) {
        connection().channel().config().setAutoRead(on);
    }

    /** Runs a step there, or returns false when the event loop was shut down. */
    final boolean onLoop(Runnable step) {
        OriginPool of = pool;
        if (of == null || of.loop().inEventLoop()) {
            step.run();
            return true;
        }
        try {
            of.loop().execute(step);
            return true;
        } catch (RejectedExecutionException e) {
            return false;
        }
    }

    /** Ends the call, and gives its channel back or closes it. */
    private void leave(boolean keep) {
        over = true;
        if (callLimit != null) {
            callLimit.cancel(false);
        }
        Connection used = connection;
        if (used != null) {
            if (!used.channel().config().isAutoRead()) {
                used.channel().config().setAutoRead(true);
            }
            used.end();
            if (!keep) {
                used.channel().close();
            }
            pool().release(used.channel());
        }
    }

    private OriginPool pool() {
        return Objects.requireNonNull(pool, "not started");
    }

    private Connection connection() {
        return Objects.requireNonNull(connection, "no connection");
    }
}
