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
import io.netty.channel.DefaultFileRegion;
import io.netty.channel.FileRegion;
import io.netty.handler.codec.http.DefaultHttpContent;
import io.netty.handler.codec.http.DefaultHttpRequest;
import io.netty.handler.codec.http.DefaultLastHttpContent;
import io.netty.handler.codec.http.FullHttpRequest;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpUtil;
import io.netty.handler.codec.http.LastHttpContent;
import io.netty.handler.ssl.SslHandler;
import io.netty.handler.stream.ChunkedInput;
import io.netty.util.ReferenceCountUtil;
import io.netty.util.concurrent.PromiseNotifier;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.WritableByteChannel;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
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
    private final BooleanSupplier mayJoin;

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
     * @param mayJoin called for each request: false where reading its body may block the event loop
     */
    CoalesceHandler(Placement placement, int joinMax, boolean answersHeldWrites, BooleanSupplier mayJoin) {
        this(placement, joinMax, answersHeldWrites, mayJoin, System::nanoTime);
    }

    /** With a clock of a test's. */
    CoalesceHandler(
            Placement placement, int joinMax, boolean answersHeldWrites, BooleanSupplier mayJoin, LongSupplier clock) {
        this.mayJoin = mayJoin;
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
            joining = mayJoin.getAsBoolean() && !last;
            alone = joining && HttpUtil.is100ContinueExpected(request);
            first = joining && !alone && !HttpUtil.isTransferEncodingChunked(request);
            headWritten = joining ? clock.getAsLong() : 0;
        }
        FileRegion file = message instanceof FileRegion region && isReadable(region) && !isSecure(ctx) ? region : null;
        boolean joinsFile = file != null && joining && !alone && file.count() <= joinMax;
        held += joinsFile ? 0 : size(message);
        if (last) {
            joining = false;
            stopLingering();
            ctx.write(cut(ctx, message, promise), promise);
        } else if (file != null && (joinsFile || (first && joinMax > 0 && resumes(ctx.channel())))) {
            writeFile(ctx, file, promise);
        } else if (joining && answersHeldWrites && !(message instanceof FileRegion)) {
            hold(ctx, cut(ctx, message, promise), promise);
        } else {
            ctx.write(cut(ctx, message, promise), promise);
        }
    }

    /**
     * Follows the codec, if it was replaced.
     *
     * @return whether this handler was moved
     */
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

    private static boolean isSecure(ChannelHandlerContext ctx) {
        return ctx.pipeline().get(SslHandler.class) != null;
    }

    private static long size(Object message) {
        ByteBuf bytes = bytes(message);
        return bytes != null ? bytes.readableBytes() : ByteHandler.size(message);
    }

    /**
     * Writes a first piece of a body that is too large to be gathered with its head. The caller's buffer stays as it is:
     * what is written are slices of it.
     *
     * @return what is left, which takes the place of the message
     */
    private Object cut(ChannelHandlerContext ctx, Object message, ChannelPromise promise) {
        boolean isFull = message instanceof FullHttpRequest;
        ByteBuf body = first || isFull ? bytes(message) : null;
        first = first && body == null;
        if (body == null
                || joinMax == 0
                || body.refCnt() == 0
                || body.readableBytes() <= SURELY_GATHERED
                || (message instanceof FullHttpRequest request && HttpUtil.isTransferEncodingChunked(request))
                || isSecure(ctx)) {
            return message;
        }
        int size = Math.min(joinMax, SURELY_GATHERED);
        ByteBuf piece = body.retainedSlice(body.readerIndex(), size);
        ByteBuf rest = body.retainedSlice(body.readerIndex() + size, body.readableBytes() - size);
        Object left;
        if (message instanceof FullHttpRequest request) {
            HttpRequest head = new DefaultHttpRequest(
                    request.protocolVersion(), request.method(), request.uri(), request.headers());
            ctx.write(head).addListener(done -> {
                if (!done.isSuccess()) {
                    promise.tryFailure(done.cause());
                }
            });
            left = new DefaultLastHttpContent(rest, request.trailingHeaders());
        } else {
            left = message instanceof ByteBufHolder holder ? holder.replace(rest) : rest;
        }
        ctx.write(isFull ? new DefaultHttpContent(piece) : piece);
        ReferenceCountUtil.release(message);
        return left;
    }

    /**
     * A small file is read, so that it can leave with its head: sendfile would be a second write. Of a large one the first
     * piece is read, and sendfile goes on behind it. What cannot be read is left to the transport, which fails the write
     * and closes the channel.
     */
    private void writeFile(ChannelHandlerContext ctx, FileRegion region, ChannelPromise promise) {
        first = false;
        long left = region.count() - region.transferred();
        ByteBuf content = read(ctx, region, (int) Math.min(left, left <= joinMax ? joinMax : SURELY_GATHERED));
        if (content == null) {
            ctx.write(region, promise);
            return;
        }
        int size = content.readableBytes();
        if (size == left) {
            region.release();
            write(ctx, content, promise);
        } else {
            held += size;
            ctx.write(content);
            ctx.write(region, promise instanceof ChannelProgressivePromise told ? behind(ctx, size, told) : promise);
            if (!resumes(ctx.channel())) {
                // Half of a file went: the transport would send it again from its beginning.
                ctx.close();
            }
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

    /**
     * Netty's own files, and the multipart messages of AsyncHttpClient, of which each part would be a write. What another
     * type does when it is read is not known.
     */
    private static boolean isReadable(FileRegion region) {
        return (region.getClass() == DefaultFileRegion.class
                        || region.getClass().getName().startsWith("org.asynchttpclient.netty."))
                && region.count() > region.transferred();
    }

    /** The next bytes of a file, fewer where it is shorter than the request says; null where there are none. */
    private static @Nullable ByteBuf read(ChannelHandlerContext ctx, FileRegion region, int length) {
        ByteBuf content = ctx.alloc().buffer(length, length);
        try (WritableByteChannel target = new Room(content)) {
            long read = 1;
            while (content.isWritable() && read > 0) {
                read = region.transferTo(target, region.transferred());
            }
        } catch (Throwable e) {
            // The transport meets the same error.
        }
        if (content.isReadable()) {
            return content;
        }
        content.release();
        return null;
    }

    /**
     * Whether the transport sends a file from {@link FileRegion#transferred} on. io_uring counts from the region's
     * beginning (IoUringFileRegion).
     */
    private static boolean resumes(Channel channel) {
        return !channel.getClass().getName().contains(".uring.");
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
            // What it held leaves with it.
            flushNow(ctx);
        }
    }

    private void flushNow(ChannelHandlerContext ctx) {
        stopLingering();
        held = 0;
        ctx.flush();
    }
}
