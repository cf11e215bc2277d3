package io.github.onewrite.netty.internal;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufHolder;
import io.netty.channel.Channel;
import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPipeline;
import io.netty.channel.ChannelProgressivePromise;
import io.netty.channel.ChannelPromise;
import io.netty.channel.DefaultChannelPromise;
import io.netty.channel.SingleThreadEventLoop;
import io.netty.channel.socket.SocketChannel;
import io.netty.handler.codec.http.DefaultFullHttpRequest;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpObject;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.LastHttpContent;
import io.netty.handler.stream.ChunkedInput;
import java.io.IOException;
import java.nio.channels.ClosedChannelException;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Directly above the HTTP codec; without hooks the only handler. A head that announces a body and is flushed before it waits
 * until the turn of the event loop ends, so that what is written in this turn leaves with it. Writes are passed on at once,
 * which keeps their order. Once the head has left, all goes as in stock.
 *
 * <p>A flush that waits answers the promises of its writes, as the transport would: many clients write the body only then.
 * If such a write fails later, the pipeline gets the exception.
 */
class Joiner extends ChannelDuplexHandler {
    static final String NAME = "onewrite.http";

    /** More than the codec adds to a part of a body. */
    private static final int FRAMING = 512;

    /** What the codec is given in place of the caller's promise. Answers that one once: Reactor Netty counts. */
    private final class Sent extends DefaultChannelPromise implements ChannelFutureListener {
        private final ChannelHandlerContext ctx;
        private final ChannelPromise caller;
        private boolean answered;

        Sent(ChannelHandlerContext ctx, ChannelPromise caller) {
            super(ctx.channel(), ctx.executor());
            this.ctx = ctx;
            this.caller = caller;
            addListener(this);
        }

        /** The transport asks this when it flushes: a write that the caller has cancelled is not sent. */
        @Override
        public boolean setUncancellable() {
            return (answered || caller.setUncancellable()) && super.setUncancellable();
        }

        void answer() {
            if (!answered && caller.setUncancellable()) {
                answered = true;
                caller.trySuccess();
            }
        }

        @Override
        public void operationComplete(ChannelFuture done) {
            if (done.isSuccess()) {
                answer();
            } else if (!answered) {
                caller.tryFailure(done.cause());
            } else if (isNews(done.cause())) {
                failedLate(ctx, done.cause());
            }
        }
    }

    /** Whether nobody else tells the pipeline: who closes knows, and SslHandler reports a handshake that fails. */
    private static boolean isNews(Throwable why) {
        return why instanceof IOException
                && !(why instanceof ClosedChannelException)
                && !why.getClass().getName().startsWith("javax.net.ssl.");
    }

    private final NettySetup setup;
    private final ChannelHandlerContext codec;
    private boolean joins;

    /** Where this stands now. */
    private @Nullable ChannelHandlerContext place;

    private boolean moving;

    /**
     * Bytes of the body that are not written yet, until the head has left; 0 joins no more. Netty sends a body without a last
     * content, too.
     */
    private long missing;

    /** A flush waits for the end of the turn. */
    private boolean owed;

    private boolean planned;

    /** A write that is not flushed has the caller's promise, which only the transport answers. */
    private boolean passed;

    /** Promises are being answered here: a flush that their listeners call returns at once, as in the transport. */
    private boolean answering;

    private boolean again;

    /** The transport is flushing, and answers promises: what their listeners write is not held. */
    private boolean flushing;

    private List<Sent> unanswered = new ArrayList<>(2);

    /** @param codec above which the handler stands */
    Joiner(NettySetup setup, ChannelHandlerContext codec) {
        this.setup = setup;
        this.codec = codec;
    }

    /** Whether the event loop runs tasks at the end of a turn: those of the blocking transport and of in-memory channels do not. */
    private static boolean canJoin(Channel channel) {
        return channel instanceof SocketChannel
                && channel.eventLoop() instanceof SingleThreadEventLoop loop
                && !loop.getClass().getName().equals("io.netty.channel.ThreadPerChannelEventLoop");
    }

    /** Whether a request ends with this. Tests the class first: a failed check of an interface is slow (JDK-8180450). */
    static boolean isEnd(Object message) {
        return message.getClass() == DefaultFullHttpRequest.class || message instanceof LastHttpContent;
    }

    @Override
    public void handlerAdded(ChannelHandlerContext ctx) {
        place = ctx;
        if (moving) {
            return;
        }
        joins = setup.switches().changesWire() && canJoin(ctx.channel());
        if (!joins) {
            setup.notJoined();
        }
    }

    @Override
    public void write(ChannelHandlerContext ctx, Object message, ChannelPromise promise) {
        boolean isEnd = isEnd(message);
        if (!isEnd && message instanceof ChunkedInput) {
            ctx.write(message, promise);
            moveDown(ctx.pipeline());
            return;
        }
        if (!isEnd && message instanceof HttpRequest request) {
            missing = joins ? announced(request.headers()) : 0;
        }
        if (missing > 0 || owed) {
            int size = size(message);
            missing = isEnd ? 0 : Math.max(0, missing - size);
            if (owed && !fits(ctx.channel(), size)) {
                flushNow(ctx);
            }
        }
        if (missing > 0 && !promise.isVoid()) {
            if (promise instanceof ChannelProgressivePromise
                    || !(message instanceof HttpObject || message instanceof ByteBuf)) {
                missing = 0; // A file: its owner may close it when the promise completes.
            } else {
                Sent sent = new Sent(ctx, promise);
                unanswered.add(sent);
                ctx.write(message, sent);
                return;
            }
        }
        passed = true;
        ctx.write(message, promise);
        checkPlace(ctx);
    }

    /** A ChunkedWriteHandler that was added since cuts the message into parts when it is flushed: this goes below it. */
    private void moveDown(ChannelPipeline pipeline) {
        if (!codec.isRemoved()) {
            moving = true;
            pipeline.remove(this);
            pipeline.addAfter(codec.name(), NAME, this);
            moving = false;
        }
    }

    /** The handler is removed and added again. */
    @Override
    public boolean isSharable() {
        return true;
    }

    /** The length of the body that a head announces. A head that waits for 100 Continue is not held. */
    private static long announced(HttpHeaders headers) {
        if (headers.contains(HttpHeaderNames.EXPECT)) {
            return 0;
        }
        String length = headers.get(HttpHeaderNames.CONTENT_LENGTH);
        if (length == null) {
            return headers.contains(HttpHeaderNames.TRANSFER_ENCODING) ? Long.MAX_VALUE : 0;
        }
        try {
            return Math.max(0, Long.parseLong(length));
        } catch (NumberFormatException e) {
            return 0; // Netty sends it.
        }
    }

    private static int size(Object message) {
        Object bytes = message instanceof ByteBufHolder holder ? holder.content() : message;
        return bytes instanceof ByteBuf buffer ? buffer.readableBytes() : 0;
    }

    /** Whether the write leaves the channel writable, as it would without the head that waits. */
    private static boolean fits(Channel channel, int size) {
        return size + FRAMING < channel.bytesBeforeUnwritable()
                || size >= channel.config().getWriteBufferHighWaterMark();
    }

    @Override
    public void flush(ChannelHandlerContext ctx) {
        if (ctx != place) {
            ctx.flush(); // To the handler that this has moved below.
            return;
        }
        if (answering) {
            again = true;
            return;
        }
        if (missing == 0 || passed || flushing || !ctx.channel().isWritable()) {
            flushNow(ctx);
            return;
        }
        owed = true;
        if (!planned) {
            planned = true;
            // Behind the tasks of this turn: AWS SDK v2 posts its body as a task.
            ((SingleThreadEventLoop) ctx.channel().eventLoop()).executeAfterEventLoopIteration(() -> {
                planned = false;
                if (place != null) {
                    flushOwed(place);
                }
            });
        }
        List<Sent> flushed = unanswered;
        unanswered = new ArrayList<>(2);
        answering = true;
        flushed.forEach(Sent::answer);
        answering = false;
        if (again) {
            again = false;
            flush(ctx);
        }
    }

    private void flushNow(ChannelHandlerContext ctx) {
        owed = false;
        passed = false;
        missing = 0;
        unanswered.clear();
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

    /** A write whose promise was answered has failed. */
    void failedLate(ChannelHandlerContext ctx, Throwable why) {
        if (setup.reports) {
            ctx.fireExceptionCaught(why);
        }
    }

    @Override
    public void channelReadComplete(ChannelHandlerContext ctx) {
        ctx.fireChannelReadComplete();
        checkPlace(ctx);
    }

    /** A client may replace its codec: behind a CONNECT of its own, or by another protocol. */
    private void checkPlace(ChannelHandlerContext ctx) {
        if (codec.isRemoved() && !ctx.isRemoved()) {
            Placement.again(setup, ctx.pipeline());
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

    /** The task that flushes is on the old event loop. */
    @Override
    public void deregister(ChannelHandlerContext ctx, ChannelPromise promise) {
        flushOwed(ctx);
        ctx.deregister(promise);
    }

    @Override
    public void handlerRemoved(ChannelHandlerContext ctx) {
        if (!moving) {
            flushOwed(ctx);
        }
    }
}
