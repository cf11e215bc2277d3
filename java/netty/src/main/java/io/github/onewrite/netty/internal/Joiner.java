package io.github.onewrite.netty.internal;

import io.netty.channel.Channel;
import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelProgressivePromise;
import io.netty.channel.ChannelPromise;
import io.netty.channel.DefaultChannelPromise;
import io.netty.channel.SingleThreadEventLoop;
import io.netty.channel.socket.SocketChannel;
import io.netty.handler.codec.http.DefaultFullHttpRequest;
import io.netty.handler.codec.http.HttpContent;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpObject;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.LastHttpContent;
import java.io.IOException;
import java.nio.channels.ClosedChannelException;
import java.util.ArrayList;
import java.util.List;
import javax.net.ssl.SSLException;

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
            } else if (done.cause() instanceof IOException
                    && !(done.cause() instanceof ClosedChannelException) // Who closes knows.
                    && !(done.cause() instanceof SSLException)) { // SslHandler has told.
                failedLate(ctx, done.cause());
            }
        }
    }

    private final NettySetup setup;
    private final ChannelHandlerContext codec;
    private final boolean joins;

    /** A head was written, and neither the end of its request nor a flush. */
    private boolean waits;

    /** A flush waits for the end of the turn. */
    private boolean owed;

    private boolean planned;
    private List<Sent> unanswered = new ArrayList<>(2);

    /** @param codec above which the handler stands */
    Joiner(NettySetup setup, ChannelHandlerContext codec) {
        this.setup = setup;
        this.codec = codec;
        this.joins = setup.switches().changesWire() && canJoin(codec.channel());
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
        if (!joins) {
            setup.notJoined();
        }
    }

    @Override
    public void write(ChannelHandlerContext ctx, Object message, ChannelPromise promise) {
        if (isEnd(message)) {
            waits = false;
        } else if (message instanceof HttpRequest request) {
            waits = joins && announcesBody(request.headers());
        }
        if (owed && !fits(ctx.channel(), message)) {
            flushNow(ctx);
        }
        if (waits && !promise.isVoid()) {
            if (promise instanceof ChannelProgressivePromise || !(message instanceof HttpObject)) {
                waits = false; // A file: its owner may close it when the promise completes.
            } else {
                Sent sent = new Sent(ctx, promise);
                unanswered.add(sent);
                ctx.write(message, sent);
                return;
            }
        }
        ctx.write(message, promise);
        checkPlace(ctx);
    }

    private static boolean announcesBody(HttpHeaders headers) {
        return (headers.contains(HttpHeaderNames.CONTENT_LENGTH) || headers.contains(HttpHeaderNames.TRANSFER_ENCODING))
                && !headers.contains(HttpHeaderNames.EXPECT);
    }

    /** Whether the write leaves the channel writable, as it would without the head that waits. */
    private static boolean fits(Channel channel, Object message) {
        int size = message instanceof HttpContent part ? part.content().readableBytes() : 0;
        return size + FRAMING < channel.bytesBeforeUnwritable()
                || size >= channel.config().getWriteBufferHighWaterMark();
    }

    @Override
    public void flush(ChannelHandlerContext ctx) {
        if (!waits || !ctx.channel().isWritable()) {
            flushNow(ctx);
            return;
        }
        owed = true;
        if (!planned) {
            planned = true;
            // Behind the tasks of this turn: AWS SDK v2 posts its body as a task.
            ((SingleThreadEventLoop) ctx.channel().eventLoop()).executeAfterEventLoopIteration(() -> {
                planned = false;
                flushOwed(ctx);
            });
        }
        List<Sent> flushed = unanswered;
        unanswered = new ArrayList<>(2);
        flushed.forEach(Sent::answer);
    }

    private void flushNow(ChannelHandlerContext ctx) {
        owed = false;
        waits = false;
        unanswered.clear();
        ctx.flush();
    }

    private void flushOwed(ChannelHandlerContext ctx) {
        if (owed) {
            flushNow(ctx);
        }
    }

    /** A write whose promise was answered has failed. */
    void failedLate(ChannelHandlerContext ctx, Throwable why) {
        ctx.fireExceptionCaught(why);
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
        flushOwed(ctx);
    }
}
