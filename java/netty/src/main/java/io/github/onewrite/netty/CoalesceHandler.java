package io.github.onewrite.netty;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufHolder;
import io.netty.channel.Channel;
import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPipeline;
import io.netty.channel.ChannelProgressiveFuture;
import io.netty.channel.ChannelProgressiveFutureListener;
import io.netty.channel.ChannelProgressivePromise;
import io.netty.channel.ChannelPromise;
import io.netty.channel.FileRegion;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.netty.handler.codec.http.DefaultHttpContent;
import io.netty.handler.codec.http.DefaultHttpRequest;
import io.netty.handler.codec.http.DefaultLastHttpContent;
import io.netty.handler.codec.http.FullHttpRequest;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpUtil;
import io.netty.handler.codec.http.LastHttpContent;
import io.netty.handler.ssl.SslHandler;
import io.netty.handler.stream.ChunkedInput;
import io.netty.util.concurrent.PromiseNotifier;
import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.WritableByteChannel;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Sits above the HTTP codec. The flushes of a streamed request wait for its end, so that head, chunks and terminator
 * leave in one. They wait no longer than {@link #LINGER_NANOS} from the head, and no more than {@code joinMax} bytes or
 * a full transport allow; later writes are flushed at the end of each turn of the event loop. A head with
 * Expect: 100-continue leaves alone. A request that is one message already is passed on unchanged.
 *
 * <p>One turn is not enough for bodies in memory that another thread publishes: Spring's RestClient
 * writes them on a scheduler, and its multipart writer reads resources there.
 *
 * <p>Some clients pull the first chunk only when the head is written, and write the terminator only when the last chunk
 * is. For these the promise of a held write is completed at once, within the same limit; a later failure
 * is reported by the channel.
 *
 * <p>A file of up to {@code joinMax} bytes is read and joined like any chunk; of a larger one the first piece is.
 *
 * <p>A large body in memory is cut: the transport gathers up to twice the send buffer, and would send the head alone
 * before a body that does not fit (IovArray, ChannelOutboundBuffer.nioBuffers). TLS takes what it is given.
 */
final class CoalesceHandler extends ChannelDuplexHandler {
    static final String NAME = "onewrite.coalesce";

    /** Longer than a hand-over between threads takes, and negligible where a source is slow. */
    private static final long LINGER_NANOS = TimeUnit.MILLISECONDS.toNanos(2);

    /** Head and body of this size leave in one gathering write whatever the send buffer. */
    static final int SURELY_GATHERED = 8 * 1024;

    private final LongSupplier clock;
    private final Placement placement;
    private final int joinMax;
    private final boolean answersHeldWrites;

    private boolean joining;
    private boolean alone;
    private boolean first; // what comes next is the first of a body of known length
    private boolean planned;
    private long held; // bytes of bodies since the last flush; heads are small
    private long headWritten;
    private @Nullable Future<?> linger;
    private boolean moving;

    /**
     * @param joinMax bytes that may wait for the end of the turn
     * @param answersHeldWrites whether writes are answered before they are flushed
     */
    CoalesceHandler(Placement placement, int joinMax, boolean answersHeldWrites) {
        this(placement, joinMax, answersHeldWrites, System::nanoTime);
    }

    /** With a clock of a test's. */
    CoalesceHandler(Placement placement, int joinMax, boolean answersHeldWrites, LongSupplier clock) {
        this.clock = clock;
        this.placement = placement;
        this.joinMax = joinMax;
        this.answersHeldWrites = answersHeldWrites;
    }

    /** It is moved when a client replaces its codec. */
    @Override
    public boolean isSharable() {
        return true;
    }

    @Override
    public void write(ChannelHandlerContext ctx, Object message, ChannelPromise promise) {
        boolean last = message instanceof LastHttpContent;
        // A ChunkedWriteHandler that cuts this into pieces stands below, and flushes each: they are joined from there.
        if (moves(ctx.pipeline(), message instanceof ChunkedInput)) {
            ctx.write(message, promise);
            return;
        }
        if (message instanceof HttpRequest request) {
            held = 0;
            joining = !last;
            alone = joining && HttpUtil.is100ContinueExpected(request);
            first = joining && !alone && !HttpUtil.isTransferEncodingChunked(request);
            headWritten = joining ? clock.getAsLong() : 0;
        }
        boolean joinsFile =
                message instanceof FileRegion region && joining && !alone && !last && region.count() <= joinMax;
        held += joinsFile ? 0 : size(message);
        ByteBuf body = first ? bytes(message) : null;
        if (body != null) {
            first = false;
            if (isCut(ctx, body)) {
                ctx.write(firstPiece(body));
            }
        }
        if (last) {
            joining = false;
            stopLingering();
            ctx.write(message instanceof FullHttpRequest request ? cut(ctx, request, promise) : message, promise);
        } else if (joinsFile && message instanceof FileRegion region) {
            writeJoined(ctx, region, promise);
        } else if (message instanceof FileRegion region && first && joinMax > 0 && resumes(ctx.channel())) {
            writeCut(ctx, region, promise);
        } else if (joining && answersHeldWrites && !(message instanceof FileRegion)) {
            hold(ctx, message, promise);
        } else {
            ctx.write(message, promise);
        }
    }

    /** Follows the codec, if it was replaced. @return whether this handler was moved */
    private boolean moves(ChannelPipeline pipeline, boolean toCodec) {
        moving = true;
        try {
            boolean moved = placement.follow(pipeline);
            if (toCodec && !moved) {
                placement.toCodec(pipeline, NAME);
                moved = true;
            }
            return moved;
        } finally {
            moving = false;
        }
    }

    /** What a message has of a body, or null. */
    private static @Nullable ByteBuf bytes(Object message) {
        return message instanceof ByteBuf buffer
                ? buffer
                : message instanceof ByteBufHolder holder ? holder.content() : null;
    }

    private static long size(Object message) {
        ByteBuf bytes = bytes(message);
        if (bytes != null) {
            return bytes.readableBytes();
        }
        return message instanceof FileRegion region ? region.count() - region.transferred() : 0;
    }

    /** Writes the head and a first piece of a body that is too large to be gathered with it. @return what is left */
    private Object cut(ChannelHandlerContext ctx, FullHttpRequest request, ChannelPromise promise) {
        ByteBuf body = request.content();
        if (!isCut(ctx, body) || HttpUtil.isTransferEncodingChunked(request)) {
            return request;
        }
        HttpRequest head =
                new DefaultHttpRequest(request.protocolVersion(), request.method(), request.uri(), request.headers());
        ctx.write(head).addListener(done -> {
            if (!done.isSuccess()) {
                promise.tryFailure(done.cause());
            }
        });
        ctx.write(new DefaultHttpContent(firstPiece(body)));
        return new DefaultLastHttpContent(body, request.trailingHeaders());
    }

    private boolean isCut(ChannelHandlerContext ctx, ByteBuf body) {
        return joinMax > 0
                && body.readableBytes() > SURELY_GATHERED
                && ctx.pipeline().get(SslHandler.class) == null;
    }

    private ByteBuf firstPiece(ByteBuf body) {
        return body.readRetainedSlice(Math.min(joinMax, SURELY_GATHERED));
    }

    /** A small file is read, so that it can leave with its head: sendfile would be a second write. */
    private void writeJoined(ChannelHandlerContext ctx, FileRegion region, ChannelPromise promise) {
        ByteBuf content = read(ctx, region, (int) region.count(), promise);
        if (content != null) {
            region.release();
            write(ctx, content, promise);
        }
    }

    /** Of a large file the first piece is read; sendfile goes on behind it. */
    private void writeCut(ChannelHandlerContext ctx, FileRegion region, ChannelPromise promise) {
        first = false;
        ByteBuf piece = read(ctx, region, Math.min(joinMax, SURELY_GATHERED), promise);
        if (piece != null) {
            int size = piece.readableBytes();
            ctx.write(piece);
            ctx.write(region, promise instanceof ChannelProgressivePromise told ? behind(ctx, size, told) : promise);
        }
    }

    /** Reports the progress of a file whose first {@code size} bytes were written before. */
    private static ChannelPromise behind(ChannelHandlerContext ctx, int size, ChannelProgressivePromise told) {
        return ctx.newProgressivePromise().addListener(new ChannelProgressiveFutureListener() {
            @Override
            public void operationProgressed(ChannelProgressiveFuture future, long progress, long total) {
                told.tryProgress(size + progress, total);
            }

            @Override
            public void operationComplete(ChannelProgressiveFuture future) {
                if (future.isSuccess()) {
                    told.trySuccess();
                } else {
                    told.tryFailure(future.cause());
                }
            }
        });
    }

    /** The next bytes of a file; null when they cannot be read, which fails the promise and releases the region. */
    private static @Nullable ByteBuf read(
            ChannelHandlerContext ctx, FileRegion region, int length, ChannelPromise promise) {
        ByteBuf content = ctx.alloc().buffer(length, length);
        try (WritableByteChannel target = new Room(content)) {
            while (content.isWritable()) {
                if (region.transferTo(target, region.transferred()) <= 0) {
                    throw new EOFException("the file is shorter than the request says");
                }
            }
            return content;
        } catch (IOException e) {
            content.release();
            region.release();
            promise.tryFailure(e);
            return null;
        }
    }

    /**
     * Whether the transport sends a file from {@link FileRegion#transferred} on. io_uring counts from the region's
     * beginning (IoUringFileRegion).
     */
    private static boolean resumes(Channel channel) {
        return channel instanceof NioSocketChannel
                || channel.getClass().getName().contains(".epoll.");
    }

    /** Takes as many bytes as the buffer has room for. */
    private record Room(ByteBuf content) implements WritableByteChannel {
        @Override
        public int write(ByteBuffer source) {
            int size = Math.min(source.remaining(), content.writableBytes());
            content.writeBytes(source.slice(source.position(), size));
            source.position(source.position() + size);
            return size;
        }

        @Override
        public boolean isOpen() {
            return true;
        }

        @Override
        public void close() {
            // There is nothing to close.
        }
    }

    private void hold(ChannelHandlerContext ctx, Object message, ChannelPromise promise) {
        ChannelPromise sent = ctx.newPromise();
        ctx.write(message, sent);
        if (alone || held > joinMax || !ctx.channel().isWritable()) {
            sent.addListener(new PromiseNotifier<Void, ChannelFuture>(false, promise));
            return;
        }
        sent.addListener(done -> {
            if (!done.isSuccess() && !(done.cause() instanceof ClosedChannelException)) {
                ctx.fireExceptionCaught(done.cause());
            }
        });
        plan(ctx);
        // The last thing done here: it may bring the next write.
        promise.trySuccess();
    }

    @Override
    public void flush(ChannelHandlerContext ctx) {
        if (!joining || alone || held > joinMax || !ctx.channel().isWritable()) {
            alone = false;
            flushNow(ctx);
        } else {
            plan(ctx);
        }
    }

    /** Plans a flush: for the end of the turn, or for the time when this request has waited long enough. */
    private void plan(ChannelHandlerContext ctx) {
        if (!planned) {
            planned = true;
            ctx.channel().eventLoop().execute(() -> {
                planned = false;
                endOfTurn(ctx);
            });
        }
    }

    private void endOfTurn(ChannelHandlerContext ctx) {
        if (!joining || linger != null) {
            return;
        }
        long left = LINGER_NANOS - (clock.getAsLong() - headWritten);
        if (left <= 0) {
            flushNow(ctx);
            return;
        }
        linger = ctx.channel()
                .eventLoop()
                .schedule(
                        () -> {
                            linger = null;
                            flushNow(ctx);
                        },
                        left,
                        TimeUnit.NANOSECONDS);
    }

    private void stopLingering() {
        if (linger != null) {
            linger.cancel(false);
            linger = null;
        }
    }

    @Override
    public void handlerRemoved(ChannelHandlerContext ctx) {
        if (!moving) {
            joining = false;
            stopLingering();
        }
    }

    private void flushNow(ChannelHandlerContext ctx) {
        stopLingering();
        held = 0;
        ctx.flush();
    }
}
