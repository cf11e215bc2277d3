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
import io.netty.channel.SingleThreadEventLoop;
import io.netty.channel.socket.SocketChannel;
import io.netty.handler.codec.http.DefaultHttpRequest;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpUtil;
import io.netty.handler.codec.http.LastHttpContent;
import io.netty.handler.stream.ChunkedInput;
import io.netty.util.concurrent.EventExecutor;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Stands directly above the HTTP codec. If a head announces a body, this delays the flush of the head to the end of the
 * event loop's turn, so that the body leaves with it. Writes are passed on at once, which keeps their order. No flush is
 * delayed longer, or with more than {@code joinMax} bytes pending.
 *
 * <p>A delayed flush completes the promises of its writes, as the transport does when it flushes: many clients write the
 * next part only then. If the transport fails such a write later, the pipeline gets the exception.
 *
 * <p>This applies to TCP sockets only. A head with Expect: 100-continue is flushed at once.
 */
class Joiner extends ChannelDuplexHandler {
    static final String NAME = "onewrite.http";

    /** An upper bound of what the transport adds to its count for the framing of a chunk. */
    private static final int FRAMING = 512;

    /**
     * A write that was passed on, and the caller's promise. Completes that promise once: Reactor Netty uses the same promise
     * for all writes of a body, and counts its completions.
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

        /** A write that the caller cancelled before its flush is not sent. */
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

    /**
     * Bytes of the body that are not written yet: as long as there are some, writes are joined. Netty sends a body without a
     * last content, so its length ends the delay.
     */
    private long bodyLeft;

    private boolean planned;

    /** {@link Placement#adjoin} removes the handler and adds it again: a delayed flush goes on. */
    boolean moving;

    private @Nullable ChannelHandlerContext place;

    /** A pending write has the caller's promise, which only the transport completes: the next flush is not delayed. */
    private boolean passed;

    /** The transport is flushing. Its completed promises may cause writes, which are not joined. */
    private boolean flushing;

    /** Promises are being completed here. A flush that their listeners call runs afterwards, as {@link #again}. */
    private boolean answering;

    private boolean again;

    /** A flush is delayed. */
    private boolean owed;

    /** @param joinMax pending bytes up to which a flush is delayed; 0 delays none */
    Joiner(Placement placement, int joinMax) {
        this.placement = placement;
        this.joinMax = joinMax;
    }

    /** Tests the class before the interface: a failed interface check is slow and does not scale (JDK-8180450). */
    static boolean isHead(Object message) {
        return message instanceof DefaultHttpRequest || message instanceof HttpRequest;
    }

    @Override
    public void write(ChannelHandlerContext ctx, Object message, ChannelPromise promise) {
        if (message instanceof ChunkedInput && placement.adjoin()) {
            // A ChunkedWriteHandler below cuts this into parts. This handler now stands below it, and joins those.
            ctx.write(message, promise);
            return;
        }
        boolean last = message instanceof LastHttpContent;
        long size = size(message);
        if (isHead(message)) {
            bodyLeft = last || joinMax == 0 || !(ctx.channel() instanceof SocketChannel)
                    ? 0
                    : announced((HttpRequest) message);
        }
        bodyLeft = last ? 0 : bodyLeft - size;
        if (owed && !fits(ctx.channel(), size)) {
            flushNow(ctx);
        }
        if (bodyLeft <= 0
                || promise.isVoid()
                || promise instanceof ChannelProgressivePromise
                || message instanceof FileRegion) {
            // The owner of a file may close it when the promise completes, so only the transport completes it.
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

    /** Returns the length of the announced body. Netty sends a length that is not a number, so this returns 0 for it. */
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
        return message instanceof ByteBufHolder holder ? holder.content().readableBytes() : ByteHandler.size(message);
    }

    /** Returns false if the write makes the channel unwritable and would not without the delayed flush. */
    private static boolean fits(Channel channel, long size) {
        return size + FRAMING < channel.bytesBeforeUnwritable()
                || size >= channel.config().getWriteBufferHighWaterMark();
    }

    @Override
    public void flush(ChannelHandlerContext ctx) {
        if (answering) {
            // A nested flush of the transport returns at once, too.
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
            afterTurn(ctx.executor(), () -> {
                planned = false;
                if (place != null) {
                    endOfTurn(place);
                }
            });
        }
        answer(ctx);
    }

    /** Behind the tasks of this turn, where the loop can: AWS SDK posts its body as a task, by way of another. */
    private static void afterTurn(EventExecutor loop, Runnable task) {
        if (loop instanceof SingleThreadEventLoop turns) {
            turns.executeAfterEventLoopIteration(task);
        } else {
            loop.execute(task);
        }
    }

    /** Completes the promises of later writes first: their listeners may write the rest of the request. */
    private void endOfTurn(ChannelHandlerContext ctx) {
        while (owed && joins(ctx) && !unflushed.isEmpty()) {
            answer(ctx);
        }
        flushOwed(ctx);
    }

    private boolean joins(ChannelHandlerContext ctx) {
        return bodyLeft > 0 && !passed && !flushing && ctx.channel().isWritable() && pending(ctx.channel()) <= joinMax;
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

    /** From its flush on, a write cannot be cancelled, as in the transport. */
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

    /** The task that flushes is on the old event loop, so the delayed flush runs before the channel leaves it. */
    @Override
    public void deregister(ChannelHandlerContext ctx, ChannelPromise promise) {
        flushOwed(ctx);
        ctx.deregister(promise);
    }

    /** The handler is removed and added again. */
    @Override
    public boolean isSharable() {
        return true;
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
