package io.github.onewrite.client;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelHandlerContext;
import io.netty.handler.stream.ChunkedInput;
import io.netty.handler.stream.ChunkedWriteHandler;
import java.nio.ByteBuffer;
import java.util.Objects;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Flow;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** A publisher's buffers as input of Netty's ChunkedWriteHandler, which pulls them at the pace of the socket. */
final class Published implements ChunkedInput<ByteBuf>, Flow.Subscriber<ByteBuffer> {
    /** After so many chunks the event loop serves others: a fast publisher and a fast peer would keep it for good. */
    private static final int CHUNKS_PER_TURN = 16;

    private final ChannelHandlerContext ctx;
    private Flow.@Nullable Subscription subscription;
    private @Nullable ByteBuffer next;
    private @Nullable Throwable failure;
    private boolean completed;
    private boolean reading;
    private int chunksOfTurn;

    Published(ChannelHandlerContext ctx) {
        this.ctx = ctx;
    }

    @Override
    public void onSubscribe(Flow.Subscription given) {
        onLoop(() -> {
            if (subscription != null || completed) {
                given.cancel();
            } else {
                subscription = given;
                given.request(1);
            }
        });
    }

    @Override
    public void onNext(ByteBuffer chunk) {
        beforeTheLast(() -> {
            if (next != null) {
                throw new IllegalStateException("the publisher of the body published more than was requested");
            }
            next = Objects.requireNonNull(chunk, "the publisher of the body published null");
        });
    }

    @Override
    public void onError(Throwable cause) {
        beforeTheLast(() -> failure = Objects.requireNonNull(cause, "the publisher of the body failed with null"));
    }

    @Override
    public void onComplete() {
        beforeTheLast(() -> completed = true);
    }

    /** What follows the last signal is ignored. */
    private void beforeTheLast(Runnable signal) {
        onLoop(() -> {
            if (!completed && failure == null) {
                signal.run();
            }
        });
    }

    /** Signals come from any thread, and within {@code request}. What the publisher throws fails the body. */
    private void onLoop(Runnable signal) {
        if (!ctx.executor().inEventLoop()) {
            try {
                ctx.executor().execute(() -> onLoop(signal));
            } catch (RejectedExecutionException e) {
                return; // the event loop was shut down, and has failed the call
            }
            return;
        }
        try {
            signal.run();
        } catch (Throwable e) {
            failure = e;
        }
        if (!reading) {
            resume();
        }
    }

    private void resume() {
        ChunkedWriteHandler writer = ctx.pipeline().get(ChunkedWriteHandler.class);
        if (writer != null) {
            writer.resumeTransfer(); // else the channel is closed
        }
    }

    @Override
    public @Nullable ByteBuf readChunk(ByteBufAllocator allocator) throws Exception {
        if (++chunksOfTurn > CHUNKS_PER_TURN) {
            chunksOfTurn = 0;
            // Scheduled, not executed: tasks that are queued now run before the sockets are served.
            ctx.executor().schedule(this::resume, 0, TimeUnit.NANOSECONDS);
            return null;
        }
        ByteBuffer chunk = next;
        if (chunk != null) {
            pull();
            // An empty chunk would be the terminator (RFC 9112, 7.1).
            return chunk.hasRemaining() ? Unpooled.wrappedBuffer(chunk) : readChunk(allocator);
        }
        if (failure != null) {
            throw failure instanceof Exception thrown ? thrown : new ExecutionException(failure);
        }
        if (completed) {
            // HttpChunkedInput sends the terminator in a turn that begins at the end of its input.
            ctx.executor().execute(this::resume);
        }
        return null;
    }

    /** Requests the next chunk. A publisher may publish it at once. */
    private void pull() {
        next = null;
        reading = true;
        try {
            if (subscription != null && !completed && failure == null) {
                subscription.request(1);
            }
        } catch (Throwable e) {
            failure = e;
        } finally {
            reading = false;
        }
    }

    @Override
    public boolean isEndOfInput() {
        return completed && next == null && failure == null;
    }

    /** The body is sent, or the call has ended: Netty closes its input. */
    @Override
    public void close() {
        completed = true;
        if (subscription != null) {
            subscription.cancel();
        }
    }

    @Override
    public long length() {
        return -1;
    }

    /** Read for progressive promises alone. */
    @Override
    public long progress() {
        return 0;
    }

    @Override
    @Deprecated
    @SuppressWarnings("InlineMeSuggester")
    public @Nullable ByteBuf readChunk(ChannelHandlerContext context) throws Exception {
        return readChunk(context.alloc());
    }
}
