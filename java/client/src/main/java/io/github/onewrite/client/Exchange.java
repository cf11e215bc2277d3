package io.github.onewrite.client;

import io.github.onewrite.netty.OnewriteNetty;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
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
import io.netty.handler.codec.http.FullHttpRequest;
import io.netty.handler.codec.http.HttpChunkedInput;
import io.netty.handler.codec.http.HttpContent;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpObject;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpResponse;
import io.netty.handler.codec.http.HttpUtil;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.codec.http.LastHttpContent;
import io.netty.handler.ssl.SslHandler;
import io.netty.handler.stream.ChunkedNioFile;
import io.netty.handler.stream.ChunkedStream;
import io.netty.handler.stream.ChunkedWriteHandler;
import io.netty.util.concurrent.Future;
import java.io.EOFException;
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

    /** Neighbours in the pool's list. */
    @Nullable
    Exchange previous;

    @Nullable
    Exchange next;

    final Settings settings;
    private final Request request;
    private final OnewriteNetty.Call timing;
    private volatile @Nullable OriginPool pool;
    private @Nullable Connection connection;
    private @Nullable Target target;
    private @Nullable HttpRequest message;
    private @Nullable Future<?> callLimit;
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

    /**
     * Makes the request in Netty's types. What Netty refuses is refused here.
     *
     * @throws IllegalArgumentException for a method, URL or header that cannot be sent
     */
    final Target.Origin prepare() {
        Target to = Target.of(request.url());
        target = to;
        Proxy proxy = to.origin().tls() ? null : settings.proxy;
        HttpHeaders headers = request.headers(to);
        if (proxy != null && proxy.user() != null && !headers.contains(HttpHeaderNames.PROXY_AUTHORIZATION)) {
            byte[] pair = (proxy.user() + ":" + proxy.password()).getBytes(StandardCharsets.UTF_8);
            headers.set(
                    HttpHeaderNames.PROXY_AUTHORIZATION,
                    "Basic " + Base64.getEncoder().encodeToString(pair));
        }
        if (settings.decompress && !headers.contains(HttpHeaderNames.ACCEPT_ENCODING)) {
            headers.set(HttpHeaderNames.ACCEPT_ENCODING, "gzip, deflate");
        }
        HttpMethod method = HttpMethod.valueOf(request.method());
        String uri = proxy == null ? to.path() : to.absolute();
        ByteBuffer bytes = request.body().bytes;
        message = bytes == null || bytes.remaining() > WHOLE
                ? new DefaultHttpRequest(HttpVersion.HTTP_1_1, method, uri, headers)
                : new DefaultFullHttpRequest(
                        HttpVersion.HTTP_1_1,
                        method,
                        uri,
                        bytes.hasRemaining() ? Unpooled.wrappedBuffer(bytes) : Unpooled.EMPTY_BUFFER,
                        headers,
                        EmptyHttpHeaders.INSTANCE);
        return to.origin();
    }

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
            long limit = own == null ? settings.callTimeout : Settings.nanos(own);
            if (limit > 0) {
                callLimit = pool().loop().schedule(() -> overdue("was not over", limit), limit, TimeUnit.NANOSECONDS);
            }
            pool().acquire(this);
        } catch (Throwable e) {
            fail(e);
        }
    }

    final OnewriteNetty.Call timing() {
        return timing;
    }

    final void acquired(Future<? super Channel> result) {
        try {
            if (!result.isSuccess()) {
                fail(result.cause());
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
        HttpRequest head = Objects.requireNonNull(message);
        Body body = request.body();
        if (head instanceof FullHttpRequest) {
            writeLast(head);
        } else if (body.bytes != null) {
            addChunkedWriter(ctx);
            write(head);
            writeLast(new HttpChunkedInput(
                    new ChunkedStream(new ByteBufInputStream(Unpooled.wrappedBuffer(body.bytes)), PIECE)));
        } else if (body.file != null) {
            sendFile(ctx, head, body.file);
        } else {
            Published published = new Published(ctx);
            addChunkedWriter(ctx);
            // First, so that a chunk that is there at once leaves with the head.
            Objects.requireNonNull(body.publisher).subscribe(published);
            write(head);
            writeLast(new HttpChunkedInput(published));
        }
    }

    /** By sendfile on a plain connection; in pieces over TLS. */
    private void sendFile(ChannelHandlerContext ctx, HttpRequest head, Path path) throws IOException {
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
            if (ctx.pipeline().get(SslHandler.class) == null) {
                write(new DefaultFileRegion(file, 0, size));
                writeLast(LastHttpContent.EMPTY_LAST_CONTENT);
                return;
            }
            addChunkedWriter(ctx);
            writeLast(new HttpChunkedInput(new ChunkedNioFile(file, 0, size, FILE_PIECE) {
                @Override
                public ByteBuf readChunk(ByteBufAllocator allocator) throws Exception {
                    ByteBuf piece = super.readChunk(allocator);
                    if (piece == null || piece.isReadable()) {
                        return piece;
                    }
                    piece.release();
                    throw new EOFException(
                            path + " is shorter than " + size + " bytes"); // Netty would read on for ever
                }
            }));
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
            connection().limit(settings.responseTimeout);
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
                reusable = status != 101
                        && HttpUtil.isKeepAlive(response)
                        && HttpUtil.isKeepAlive(Objects.requireNonNull(message));
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
            connection().limit(wantsMore() ? settings.idleReadTimeout : 0);
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
            overdue("got no bytes of the response's body", settings.idleReadTimeout);
        } else {
            overdue("got no response", settings.responseTimeout);
        }
    }

    private void overdue(String what, long nanos) {
        fail(new SocketTimeoutException(
                "the call to " + origin() + " " + what + " in " + TimeUnit.NANOSECONDS.toMillis(nanos) + " ms"));
    }

    private String origin() {
        return Objects.requireNonNull(target).origin().toString();
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
            connection().limit(settings.idleReadTimeout);
            connection().channel().read();
        }
    }

    final void setAutoRead(boolean on) {
        connection().channel().config().setAutoRead(on);
    }

    /** Runs a step there. A loop that was shut down has ended the call: what is left is to signal it. */
    final void onLoop(Runnable step) {
        OriginPool of = pool;
        if (of == null || of.loop().inEventLoop()) {
            step.run();
            return;
        }
        try {
            of.loop().execute(step);
        } catch (RejectedExecutionException e) {
            of.loop().terminationFuture().addListener(terminated -> step.run());
        }
    }

    /** Ends the call, and gives its channel back or closes it. */
    private void leave(boolean keep) {
        over = true;
        if (pool != null) {
            pool().left(this);
        }
        if (callLimit != null) {
            callLimit.cancel(false);
        }
        Connection used = connection;
        if (used != null && !used.channel().eventLoop().isTerminated()) {
            used.channel().config().setAutoRead(true);
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
