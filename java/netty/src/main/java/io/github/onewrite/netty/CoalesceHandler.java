package io.github.onewrite.netty;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufHolder;
import io.netty.channel.Channel;
import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;
import io.netty.channel.FileRegion;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpUtil;
import io.netty.handler.codec.http.LastHttpContent;
import io.netty.handler.stream.ChunkedInput;
import io.netty.util.concurrent.PromiseNotifier;
import java.util.ArrayList;
import java.util.List;
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
 */
final class CoalesceHandler extends ChannelDuplexHandler {
    static final String NAME = "onewrite.coalesce";

    /** Longer than a hand-over between threads takes, and negligible where a source is slow. */
    private static final long LINGER_NANOS = TimeUnit.MILLISECONDS.toNanos(2);

    /** Bytes of a chunk's framing, as the transport counts them. */
    private static final int FRAMING = 512;

    private final LongSupplier clock;
    private final BodyStart start;
    private final int joinMax;
    private final boolean answersHeldWrites;
    private final BooleanSupplier mayJoin;

    private boolean joining;
    private boolean alone;
    private boolean planned;

    /** Whether bytes wait that would have been sent without this handler. */
    private boolean owed;

    private long held; // bytes of bodies since the last flush; heads are small

    /** Of the writes since the last flush, that of the caller. */
    private final List<ChannelPromise> unflushed = new ArrayList<>(4);

    private long headWritten;
    private @Nullable Future<?> linger;
    private boolean moving;

    /**
     * @param joinMax bytes that may wait for the end of the turn
     * @param answersHeldWrites whether writes are answered before they are flushed
     * @param mayJoin called for each request: false where reading its body may block the event loop
     * @param clock System::nanoTime, or a test's
     */
    CoalesceHandler(
            BodyStart start, int joinMax, boolean answersHeldWrites, BooleanSupplier mayJoin, LongSupplier clock) {
        this.start = start;
        this.joinMax = joinMax;
        this.answersHeldWrites = answersHeldWrites;
        this.mayJoin = mayJoin;
        this.clock = clock;
    }

    /** It is moved below a ChunkedWriteHandler. */
    @Override
    public boolean isSharable() {
        return true;
    }

    @Override
    public void write(ChannelHandlerContext ctx, Object message, ChannelPromise promise) {
        if (message instanceof ChunkedInput) {
            // A ChunkedWriteHandler below cuts this into pieces and flushes each: they are joined from there.
            moving = true;
            Placement.toCodec(ctx.pipeline(), this);
            moving = false;
            ctx.write(message, promise);
            return;
        }
        boolean last = message instanceof LastHttpContent;
        if (message instanceof HttpRequest request) {
            joining = mayJoin.getAsBoolean() && !last;
            alone = joining && HttpUtil.is100ContinueExpected(request);
            headWritten = joining ? clock.getAsLong() : 0;
            start.request(joining, last);
        }
        joining &= !last;
        long size = size(message);
        if (owed && needsRoom(ctx.channel(), size + FRAMING)) {
            flushNow(ctx);
        }
        held += size;
        if (joining && answersHeldWrites) {
            hold(ctx, message, promise);
        } else {
            if (joining) {
                unflushed.add(promise);
            }
            ctx.write(message, promise);
        }
    }

    /** Whether a write makes the channel unwritable only because of what is held. */
    private static boolean needsRoom(Channel channel, long size) {
        return channel.bytesBeforeUnwritable() <= size
                && size < channel.config().getWriteBufferHighWaterMark();
    }

    private static long size(Object message) {
        return message instanceof ByteBufHolder holder
                ? holder.content().readableBytes()
                : message instanceof ByteBuf || message instanceof FileRegion ? ByteHandler.size(message) : 0;
    }

    private void hold(ChannelHandlerContext ctx, Object message, ChannelPromise promise) {
        ChannelPromise sent = ctx.newPromise();
        ctx.write(message, sent);
        boolean inMemory = !(message instanceof FileRegion) || start.takeFileIsRead();
        if (sent.isDone()
                || alone
                || !inMemory
                || held > joinMax
                || !ctx.channel().isWritable()) {
            sent.addListener(new PromiseNotifier<Void, ChannelFuture>(false, promise));
            return;
        }
        sent.addListener(done -> {
            // Where the transport failed, the close follows, with the error that the client makes of it.
            if (!done.isSuccess() && ctx.channel().isOpen()) {
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
            // As the transport does at a flush, for which a cancelled write would be no part of the request.
            unflushed.forEach(ChannelPromise::setUncancellable);
            unflushed.clear();
            plan(ctx);
        }
    }

    /** Plans a flush: for the end of the turn, or for the time when this request has waited long enough. */
    private void plan(ChannelHandlerContext ctx) {
        owed = true;
        if (!planned) {
            planned = true;
            ctx.channel().eventLoop().execute(() -> {
                planned = false;
                endOfTurn(ctx);
            });
        }
    }

    private void endOfTurn(ChannelHandlerContext ctx) {
        if (!owed || linger != null) {
            return;
        }
        long left = joining ? LINGER_NANOS - (clock.getAsLong() - headWritten) : 0;
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

    private void flushNow(ChannelHandlerContext ctx) {
        unflushed.clear();
        owed = false;
        held = 0;
        if (linger != null) {
            linger.cancel(false);
            linger = null;
        }
        ctx.flush();
    }

    private void flushOwed(ChannelHandlerContext ctx) {
        if (owed) {
            flushNow(ctx);
        }
    }

    @Override
    public void disconnect(ChannelHandlerContext ctx, ChannelPromise promise) {
        flushOwed(ctx);
        ctx.disconnect(promise);
    }

    @Override
    public void close(ChannelHandlerContext ctx, ChannelPromise promise) {
        flushOwed(ctx);
        ctx.close(promise);
    }

    /** Its tasks are those of the loop that it leaves. */
    @Override
    public void deregister(ChannelHandlerContext ctx, ChannelPromise promise) {
        flushOwed(ctx);
        ctx.deregister(promise);
    }

    @Override
    public void handlerRemoved(ChannelHandlerContext ctx) {
        if (!moving) {
            joining = false;
            flushOwed(ctx);
        }
    }
}
