package io.github.onewrite.netty.internal;

import io.github.onewrite.ErrorKind;
import io.github.onewrite.Phase;
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
 * An attempt of a call: a request on a connection, and its answer. The event loop of the call's first connection owns the
 * record. A step that another thread takes is posted to that loop. Before the call has a loop, any thread can end it.
 *
 * <p>Only the loop of the attempt's connection accesses the fields of request and answer.
 */
public final class Exchange implements ChannelFutureListener {
    /** Stands for every request that is not timed. */
    public static final Exchange UNTIMED = new Exchange(null, null);

    private static final Object ENDED = "ended before it had an event loop";
    private static final AtomicReferenceFieldUpdater<Exchange, Object> OWNER =
            AtomicReferenceFieldUpdater.newUpdater(Exchange.class, Object.class, "owner");

    /** A step of the record, at a time of {@link System#nanoTime}. A lambda that captures nothing is allocated once. */
    @FunctionalInterface
    public interface Step {
        void take(Exchange exchange, TimedCall record, long at);
    }

    private final @Nullable TimedCall record;

    /** The event loop that owns the record; null before the call has a loop; {@link #ENDED} if it ended before. */
    private volatile @Nullable Object owner;

    private @Nullable TimedAttempt attempt;
    private @Nullable NettyConnection connection;
    private @Nullable ChannelPromise lastWrite;
    private boolean acquired;
    private boolean released;
    private boolean pending;
    private boolean sent;
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

    /** @param loop owns the record; null if the call has no loop yet */
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

    /** Ends this attempt, and begins the next one of the call. */
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

    /** Whether the call has a record. */
    public boolean isTimed() {
        return record != null;
    }

    /** Whether the attempt is timed and its connection is not released. */
    boolean isOpen() {
        return record != null && !released;
    }

    /** Makes the loop the owner of the record, unless it has an owner or the call has ended. */
    public void ownedBy(EventLoop loop) {
        OWNER.compareAndSet(this, null, loop);
    }

    /** Takes a step of this attempt. A step after the attempt has ended is ignored. */
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
            // The loop is shut down, so no other thread takes a step.
            take(call, at, step);
        }
    }

    /** Without a current attempt, the record ignores all steps but the end of the call. */
    private void take(TimedCall call, long at, Step step) {
        TimedAttempt now = call.current();
        if (now == null || now == attempt) {
            step.take(this, call, at);
        }
    }

    /** The call has its answer. Ignored after the call has ended. */
    public void completed(long at) {
        step(at, (exchange, timed, time) -> timed.completed(time));
    }

    /** The caller cancels the call. Ignored after the call has ended. */
    public void cancelled() {
        step(System.nanoTime(), (exchange, timed, time) -> timed.cancelled(time));
    }

    /**
     * The call failed. Ignored after the call has ended.
     *
     * @param own returns the kind of an error that only the client's library throws, or null
     */
    public void failed(Throwable error, Function<Throwable, @Nullable ErrorKind> own) {
        ErrorKind kind = record == null ? ErrorKind.OTHER : ErrorKinds.of(error, own);
        step(System.nanoTime(), (exchange, timed, time) -> timed.failed(time, kind, error));
    }

    /**
     * Binds the attempt to the connection.
     *
     * @param since when the connection became idle; 0 for a new connection
     * @param number of the request on the connection, from 1
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
        // The connection was idle until this attempt began. If it was in use then, the attempt waited for it.
        long until = timed.attemptStartedAt();
        if (ordinal > 1 && free > until) {
            until = System.nanoTime();
            timed.queued(until);
        }
        timed.connectionAcquired(by.id(), ordinal > 1 && free > 0 ? Math.max(0, until - free) : -1, ordinal);
    }

    /** The connection is ready. A client may have written the request before, which left with the last step of the connect. */
    void connected() {
        acquired();
        if (writes > 0) {
            step(System.nanoTime(), (exchange, timed, at) -> timed.begin(Phase.SEND, at));
        }
        if (sent) {
            sent();
        }
    }

    /** The client writes the head. */
    void writes(HttpRequest head) {
        keepsAlive = record == null || !record.wantsEvents() || HttpUtil.isKeepAlive(head);
        isHead = HttpMethod.HEAD.equals(head.method());
    }

    /**
     * The codec writes bytes. A tracer's handler above the codec has opened its scope by now.
     *
     * @return the promise to pass on
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

    /** SslHandler flushes pending writes when its handshake ends: the first bytes of a connection leave without a flush here. */
    private ChannelPromise flushedBy(ChannelPromise write) {
        long at = System.nanoTime();
        // Reactor Netty's promise for the writes of a stream takes no listeners: its unvoid() returns another.
        return write.unvoid().addListener(done -> {
            if (done.isSuccess() && pending) {
                flushes(at);
            }
        });
    }

    /** Calls listeners only on the loop's thread, where a tracer's scope is current. */
    void requestWrite() {
        TimedCall call = record;
        if (call != null && call.wantsWrite() && owner instanceof EventLoop loop && loop.inEventLoop()) {
            step(0, (exchange, timed, at) -> timed.requestWrite());
        }
    }

    /** The transport is about to send the written bytes. */
    void flushes() {
        if (pending) {
            flushes(System.nanoTime());
        }
    }

    private void flushes(long at) {
        pending = false;
        if (writes++ == 0 && acquired) {
            step(at, (exchange, timed, time) -> timed.begin(Phase.SEND, time));
        }
    }

    /** The client writes the end of the request. */
    ChannelPromise last(ChannelPromise write) {
        if (record == null || released) {
            return write;
        }
        lastWrite = write.unvoid();
        return lastWrite;
    }

    /** A flush has returned. */
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

    /** The last write of the request completed. */
    @Override
    public void operationComplete(ChannelFuture write) {
        if (write.isSuccess()) {
            sent = true;
            sent();
        }
    }

    private void sent() {
        step(System.nanoTime(), (exchange, timed, at) -> timed.requestEnd(at, exchange.bytes, exchange.writes));
    }

    /** The channel read bytes of the answer. */
    void read(long at) {
        if (firstRead == 0) {
            firstRead = at;
        }
    }

    /** The bytes so far are an interim answer. The final answer begins with the next bytes. */
    void interim(int code) {
        firstRead = 0;
        step(System.nanoTime(), (exchange, timed, at) -> timed.informational(at, code));
    }

    /**
     * The codec decoded the head of the final answer. An answer without a body ends here, even if the client reads no further.
     *
     * @param empty whether the head says that no body follows
     * @param single whether no other request is in flight: only then the kernel's counters belong to this request
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
     * Releases the connection.
     *
     * @return false if it was released before
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
