package io.github.onewrite.netty.internal;

import io.github.onewrite.ErrorKind;
import io.github.onewrite.internal.ErrorKinds;
import io.github.onewrite.internal.TimedAttempt;
import io.github.onewrite.internal.TimedCall;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelPromise;
import io.netty.channel.EventLoop;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpUtil;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicReferenceFieldUpdater;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * One attempt of a call: its request on one connection, and the answer. The event loop of the call's first connection takes
 * the steps of the record: on it a step is taken at once, from another thread it is posted. Before there is a loop, the
 * call can only end, on whatever thread comes first.
 *
 * <p>The fields of the request belong to the loop of the connection.
 */
public final class Exchange implements ChannelFutureListener {
    /** A request that is not reported. */
    public static final Exchange UNTIMED = new Exchange(null, null);

    private static final Object ENDED = "ended before it had an event loop";
    private static final AtomicReferenceFieldUpdater<Exchange, Object> OWNER =
            AtomicReferenceFieldUpdater.newUpdater(Exchange.class, Object.class, "owner");

    /** A step of the record, at a time of {@link System#nanoTime}. One that captures nothing is made once. */
    @FunctionalInterface
    public interface Step {
        void take(Exchange exchange, TimedCall record, long at);
    }

    private final @Nullable TimedCall record;

    /** The event loop, or null while it is not known, or {@link #ENDED}. */
    private volatile @Nullable Object owner;

    private @Nullable TimedAttempt attempt;
    private @Nullable NettyConnection connection;
    private @Nullable ChannelPromise lastWrite;
    private boolean acquired;
    private boolean released;
    private boolean pending;
    private boolean keepsAlive = true;
    private boolean isHead;
    private int ordinal;
    private long free;
    private int writes;
    private long bytes;
    private long firstRead;
    private long received;
    private int status;
    private boolean alone;
    private boolean reusable;

    /** @param loop takes the steps; null where it is not known yet */
    Exchange(@Nullable TimedCall record, @Nullable EventLoop loop) {
        this.record = record;
        this.owner = loop;
        if (record != null) {
            record.attempt(record.startedAtMonoNanos());
            attempt = record.current();
        }
    }

    private Exchange(Exchange before) {
        this.record = before.record;
        this.owner = before.owner;
    }

    /** The next attempt of the call: the present one is over. */
    public Exchange next() {
        TimedCall call = record;
        if (call == null) {
            return this;
        }
        Exchange next = new Exchange(this);
        step(System.nanoTime(), (exchange, timed, at) -> {
            timed.left(at);
            timed.attempt(at);
            next.attempt = timed.current();
        });
        return next;
    }

    /** Whether a hook is set. */
    public boolean isTimed() {
        return record != null;
    }

    /** Whether the connection serves the call: it is timed, and was not given back. */
    boolean isOpen() {
        return record != null && !released;
    }

    /** The loop takes the steps from now on, unless another does, or the call has ended. */
    public void ownedBy(EventLoop loop) {
        OWNER.compareAndSet(this, null, loop);
    }

    /** Takes a step of this attempt; ignored when the attempt is over. */
    public void step(long at, Step step) {
        TimedCall call = record;
        if (call == null) {
            return;
        }
        if (owner instanceof EventLoop loop) {
            if (loop.inEventLoop()) {
                take(call, at, step);
            } else {
                post(loop, call, at, step);
            }
        } else if (OWNER.compareAndSet(this, null, ENDED)) {
            take(call, at, step);
        } else if (owner instanceof EventLoop loop) {
            post(loop, call, at, step);
        }
    }

    private void post(EventLoop loop, TimedCall call, long at, Step step) {
        try {
            loop.execute(() -> take(call, at, step));
        } catch (RejectedExecutionException e) {
            // The loop is shut down: it takes no step any more.
            take(call, at, step);
        }
    }

    /** Between two attempts, and after the last one, the call can still end. */
    private void take(TimedCall call, long at, Step step) {
        TimedAttempt now = call.current();
        if (now == null || now == attempt) {
            step.take(this, call, at);
        }
    }

    /** The call is answered. Ignored once it has ended. */
    public void completed(long at) {
        step(at, (exchange, timed, time) -> timed.completed(time));
    }

    /** The caller gave up. Ignored once the call has ended. */
    public void cancelled() {
        step(System.nanoTime(), (exchange, timed, time) -> timed.cancelled(time));
    }

    /**
     * The call failed. Ignored once it has ended.
     *
     * @param own the kind of an error of the client, or null
     */
    public void failed(Throwable error, Function<Throwable, @Nullable ErrorKind> own) {
        ErrorKind kind = record == null ? ErrorKind.OTHER : ErrorKinds.of(error, own);
        step(System.nanoTime(), (exchange, timed, time) -> timed.failed(time, kind, error));
    }

    /**
     * Binds the attempt to the connection.
     *
     * @param since when the connection has been idle, 0 when it has carried no request
     */
    void serve(NettyConnection by, ConnectTimes times, long since, int number) {
        connection = by;
        ordinal = number;
        free = since;
        if (number > 1 || times.serve(this)) {
            acquired();
        }
    }

    /** The connection is ready. */
    private void acquired() {
        NettyConnection by = connection;
        if (by == null) {
            return;
        }
        acquired = true;
        by.probes();
        step(0, (exchange, timed, none) -> exchange.acquired(timed, by));
    }

    private void acquired(TimedCall timed, NettyConnection by) {
        timed.proxy(by.times().proxy());
        // Idle until this call wanted it, unless another call had it then.
        long until = timed.attemptStartedAt();
        if (ordinal > 1 && free > until) {
            until = System.nanoTime();
            timed.queued(until);
        }
        timed.connectionAcquired(by.id(), ordinal > 1 && free > 0 ? Math.max(0, until - free) : -1, ordinal);
    }

    /** The connection is ready. The request may have been written before. */
    void connected() {
        acquired();
        if (writes > 0) {
            step(System.nanoTime(), (exchange, timed, at) -> timed.requestStart(at));
        }
    }

    /** The head of the request is written. */
    void writes(HttpRequest head) {
        keepsAlive = record == null || !record.wantsEvents() || HttpUtil.isKeepAlive(head);
        isHead = HttpMethod.HEAD.equals(head.method());
    }

    /**
     * Bytes are written: below the codec, so in the scope of a tracer that stands between it and the client.
     *
     * @return the promise for the transport
     */
    ChannelPromise wrote(long size, ChannelPromise promise) {
        if (record == null) {
            return promise;
        }
        if (bytes == 0) {
            requestWrite();
        }
        bytes += size;
        pending |= size > 0;
        return ordinal == 1 && writes == 0 && !promise.isVoid() ? flushedBy(promise) : promise;
    }

    /** The first bytes of a connection may leave before they are flushed: SslHandler does so when its handshake ends. */
    private ChannelPromise flushedBy(ChannelPromise write) {
        long at = System.nanoTime();
        return write.addListener(done -> {
            if (done.isSuccess() && pending) {
                flushes(at);
            }
        });
    }

    /** Listeners are called on this thread, or not at all: a tracer's scope is here. */
    void requestWrite() {
        TimedCall call = record;
        if (call != null && call.wantsWrite() && owner instanceof EventLoop loop && loop.inEventLoop()) {
            step(0, (exchange, timed, at) -> timed.requestWrite());
        }
    }

    /** The written bytes are being handed to the transport. */
    void flushes() {
        if (pending) {
            flushes(System.nanoTime());
        }
    }

    private void flushes(long at) {
        pending = false;
        if (writes++ == 0 && acquired) {
            step(at, (exchange, timed, time) -> timed.requestStart(time));
        }
    }

    /** The end of the request is being written. */
    ChannelPromise last(ChannelPromise write) {
        if (record == null || released) {
            return write;
        }
        lastWrite = write.unvoid();
        return lastWrite;
    }

    /** The transport took what it could. */
    void flushed() {
        ChannelPromise write = lastWrite;
        if (write != null) {
            lastWrite = null;
            if (write.isDone()) {
                operationComplete(write);
            } else {
                write.addListener(this);
            }
        }
    }

    /** The last write of the request returned. */
    @Override
    public void operationComplete(ChannelFuture write) {
        if (write.isSuccess()) {
            step(System.nanoTime(), (exchange, timed, at) -> timed.requestEnd(at, exchange.bytes, exchange.writes));
        }
    }

    /** Bytes of the answer are read. */
    void read(long at) {
        if (firstRead == 0) {
            firstRead = at;
        }
    }

    /** The bytes so far were an interim response: the final one begins with the next. */
    void interim(int code) {
        firstRead = 0;
        step(System.nanoTime(), (exchange, timed, at) -> timed.informational(at, code));
    }

    /**
     * The head of the final answer was read. An answer without a body ends with it, whether or not the client reads on.
     *
     * @param empty whether the head alone says that no body follows
     * @param single whether no other request is in flight, so that the kernel's evidence is this one's
     */
    void head(int code, boolean empty, long lastRead, boolean single) {
        status = code;
        alone = single;
        step(firstRead == 0 ? lastRead : firstRead, (exchange, timed, at) -> exchange.head(timed, at));
        if (isHead || empty) {
            responseEnd(lastRead, 0);
        }
    }

    private void head(TimedCall timed, long at) {
        timed.responseStart(at);
        NettyConnection by = connection;
        if (alone && by != null && by.loop().inEventLoop()) {
            by.probed(timed);
        }
        timed.headersEnd(status);
    }

    void responseEnd(long at, long size) {
        received = size;
        step(at, (exchange, timed, time) -> timed.responseEnd(time, exchange.received));
    }

    /**
     * The connection serves the call no more.
     *
     * @return false when it did not before
     */
    boolean release(long at, boolean again) {
        if (!isOpen()) {
            return false;
        }
        released = true;
        reusable = again && keepsAlive;
        step(at, (exchange, timed, time) -> timed.connectionReleased(time, exchange.reusable));
        return true;
    }
}
