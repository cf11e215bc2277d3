package io.github.onewrite.netty.internal;

import io.netty.buffer.ByteBufHolder;
import io.netty.channel.Channel;
import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.channel.ChannelProgressivePromise;
import io.netty.channel.ChannelPromise;
import io.netty.channel.FileRegion;
import io.netty.channel.socket.SocketChannel;
import io.netty.handler.codec.http.DefaultHttpRequest;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpUtil;
import io.netty.handler.codec.http.LastHttpContent;
import io.netty.handler.stream.ChunkedInput;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Directly above the HTTP codec. Where a head announces a body that comes in further messages, the flush of the head waits
 * until the event loop's turn ends: what is written until then leaves with it. Every write goes down at once, so its order
 * stays. Nothing waits longer than the turn, or with more than {@code joinMax} bytes.
 *
 * <p>Whoever waits for such a write is answered at its flush, as the transport would: many clients write the next piece
 * only then. A write that fails later is reported to the pipeline.
 *
 * <p>Only on TCP sockets. A head with Expect: 100-continue leaves alone.
 */
class Joiner extends ChannelDuplexHandler {
    static final String NAME = "onewrite.http";

    /** More than the framing of a chunk takes, as the transport counts it. */
    private static final int FRAMING = 512;

    /**
     * A write that was passed down, and the caller's promise, which is answered once: Reactor Netty has one promise for all
     * writes of a body, and counts.
     */
    private static final class Written implements ChannelFutureListener {
        private final ChannelHandlerContext ctx;
        private final ChannelPromise answer;
        private final ChannelPromise sent;
        private boolean answered;

        Written(ChannelHandlerContext ctx, ChannelPromise answer, ChannelPromise sent) {
            this.ctx = ctx;
            this.answer = answer;
            this.sent = sent;
        }

        /** What is cancelled before its flush is no part of the request. */
        void flushed() {
            if (!answered && !answer.setUncancellable()) {
                sent.cancel(false);
            }
        }

        void answer() {
            if (!answered) {
                answered = true;
                answer.trySuccess();
            }
        }

        @Override
        public void operationComplete(ChannelFuture done) {
            if (done.isSuccess()) {
                answer();
            } else if (!answered) {
                answered = true;
                answer.tryFailure(done.cause());
            } else if (ctx.channel().isOpen()) {
                ctx.fireExceptionCaught(done.cause());
            }
        }
    }

    private final Placement placement;
    private final int joinMax;
    private final List<Written> unflushed = new ArrayList<>(2);
    private boolean joining;

    /** Bytes of the body that are still to be written. A complete request is not held: Netty accepts one without a last content. */
    private long bodyLeft;

    private boolean planned;
    private boolean moving;
    private @Nullable ChannelHandlerContext place;

    /** A write was passed on with the caller's promise, which the transport answers: before those that come later. */
    private boolean passed;

    /** The transport answers writes at this moment: what they bring is not joined. */
    private boolean flushing;

    /** This answers writes at this moment: a flush that they bring comes after. */
    private boolean answering;

    private boolean again;

    /** Whether bytes wait that would have been sent without this handler. */
    private boolean owed;

    /** @param joinMax bytes that may wait for the end of the turn; 0 for none */
    Joiner(Placement placement, int joinMax) {
        this.placement = placement;
        this.joinMax = joinMax;
    }

    /** Classes are tested before interfaces: that is much cheaper (JDK-8180450). */
    static boolean isHead(Object message) {
        return message instanceof DefaultHttpRequest || message instanceof HttpRequest;
    }

    @Override
    public void write(ChannelHandlerContext ctx, Object message, ChannelPromise promise) {
        if (message instanceof ChunkedInput && placement.adjoin()) {
            // A ChunkedWriteHandler below cuts this into pieces and flushes each: they are joined from there.
            ctx.write(message, promise);
            return;
        }
        boolean last = message instanceof LastHttpContent;
        long size = size(message);
        if (isHead(message)) {
            bodyLeft = last || joinMax == 0 || !(ctx.channel() instanceof SocketChannel)
                    ? 0
                    : announced((HttpRequest) message);
            joining = bodyLeft > 0;
        }
        bodyLeft -= size;
        joining &= !last && bodyLeft > 0;
        if (owed && !fits(ctx.channel(), size)) {
            flushNow(ctx);
        }
        if (!joining
                || promise.isVoid()
                || promise instanceof ChannelProgressivePromise
                || message instanceof FileRegion) {
            // Who waits for a file may close it then.
            passed = true;
            if (answering) {
                unflushed.add(new Written(ctx, promise, promise));
            }
            ctx.write(message, promise);
            return;
        }
        Written written = new Written(ctx, promise, ctx.newPromise());
        unflushed.add(written);
        ctx.write(message, written.sent.addListener(written));
    }

    /** The length of the body that a head announces; 0 for none, and where Netty sends a length that is no number. */
    private static long announced(HttpRequest request) {
        if (HttpUtil.is100ContinueExpected(request)) {
            return 0;
        }
        if (HttpUtil.isTransferEncodingChunked(request)) {
            return Long.MAX_VALUE;
        }
        try {
            return HttpUtil.getContentLength(request, 0L);
        } catch (NumberFormatException e) {
            return 0;
        }
    }

    private static long size(Object message) {
        return message instanceof ByteBufHolder holder
                ? holder.content().readableBytes()
                : BodyStart.size(message);
    }

    /** False where the write would make the channel unwritable only because of what waits. */
    private static boolean fits(Channel channel, long size) {
        return size + FRAMING < channel.bytesBeforeUnwritable()
                || size >= channel.config().getWriteBufferHighWaterMark();
    }

    @Override
    public void flush(ChannelHandlerContext ctx) {
        if (answering) {
            // As in the transport, which answers what was flushed before.
            again = true;
            settle();
            return;
        }
        if (!joins(ctx)) {
            flushNow(ctx);
            return;
        }
        owed = true;
        if (!planned) {
            planned = true;
            ctx.executor().execute(() -> {
                planned = false;
                if (place != null) {
                    endOfTurn(place);
                }
            });
        }
        answer(ctx);
    }

    /** What was written meanwhile is flushed next. Whoever waits for it may write the rest of the request now. */
    private void endOfTurn(ChannelHandlerContext ctx) {
        while (owed && joins(ctx) && !unflushed.isEmpty()) {
            answer(ctx);
        }
        flushOwed(ctx);
    }

    private boolean joins(ChannelHandlerContext ctx) {
        return joining && !passed && !flushing && ctx.channel().isWritable() && pending(ctx.channel()) <= joinMax;
    }

    private void answer(ChannelHandlerContext ctx) {
        settle();
        List<Written> answered = List.copyOf(unflushed);
        unflushed.clear();
        answering = true;
        answered.forEach(Written::answer);
        answering = false;
        if (again) {
            again = false;
            flush(ctx);
        }
    }

    /** What is not cancelled by now is part of the request, as in the transport's flush. */
    private void settle() {
        unflushed.forEach(Written::flushed);
    }

    private static long pending(Channel channel) {
        ChannelOutboundBuffer buffer = channel.unsafe().outboundBuffer();
        return buffer == null ? Long.MAX_VALUE : buffer.totalPendingWriteBytes();
    }

    private void flushNow(ChannelHandlerContext ctx) {
        owed = false;
        passed = false;
        settle();
        unflushed.clear();
        boolean outer = flushing;
        flushing = true;
        ctx.flush();
        flushing = outer;
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

    /** The task that flushes belongs to the loop that the channel leaves. */
    @Override
    public void deregister(ChannelHandlerContext ctx, ChannelPromise promise) {
        flushOwed(ctx);
        ctx.deregister(promise);
    }

    /** It is moved: {@link Placement#adjoin}. */
    @Override
    public boolean isSharable() {
        return true;
    }

    void moving(boolean now) {
        moving = now;
    }

    @Override
    public void handlerAdded(ChannelHandlerContext ctx) {
        place = ctx;
    }

    @Override
    public void handlerRemoved(ChannelHandlerContext ctx) {
        if (!moving) {
            flushOwed(ctx);
        }
    }
}
