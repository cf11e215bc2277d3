package io.github.onewrite.netty.internal;

import io.github.onewrite.ErrorKind;
import io.github.onewrite.Phase;
import io.github.onewrite.internal.ErrorKinds;
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
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * An attempt of a call: a request on a connection, and its answer. The event loop of the call's first connection owns the
 * record: its thread takes the steps directly, and those of other threads are posted to it. Before the call has a loop, any
 * thread can end it.
 *
 * <p>Only the loop of the attempt's connection accesses the fields of request and answer.
 */
public final class Exchange implements ChannelFutureListener {
    /** Stands for every request that is not timed. */
    public static final Exchange UNTIMED = new Exchange(null, null);

    private static final Object ENDED = "ended before it had an event loop";
    private static final AtomicReferenceFieldUpdater<Exchange, Object> OWNER =
            AtomicReferenceFieldUpdater.newUpdater(Exchange.class, Object.class, "owner");

    private final @Nullable TimedCall record;

    /** The event loop that owns the record; null before the call has a loop; {@link #ENDED} if it ended before. */
    private volatile @Nullable Object owner;

    /** The next attempt has begun, so that steps of this one are ignored. The owner sets it. */
    private boolean over;

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

    /** @param owner the loop that owns the record; null if the call has none yet */
    Exchange(@Nullable TimedCall record, @Nullable Object owner) {
        this.record = record;
        this.owner = owner;
    }

    /** Ends this attempt, and begins the next one of the call. */
    public Exchange next() {
        if (record == null) {
            return this;
        }
        long at = System.nanoTime();
        Exchange next = new Exchange(record, owner);
        step(timed -> {
            over = true;
            timed.left(at);
            timed.attempt(at);
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
        if (record != null) {
            OWNER.compareAndSet(this, null, loop);
        }
    }

    /** The record, if this thread takes its steps; else the step is to be given to {@link #step}. */
    private @Nullable TimedCall owned() {
        return owner instanceof EventLoop loop && loop.inEventLoop() && !over ? record : null;
    }

    /** Takes a step of this attempt, on the thread of the owner. A step after the attempt has ended is ignored. */
    public void step(Consumer<TimedCall> step) {
        TimedCall call = record;
        if (call == null) {
            return;
        }
        if (owner == null && OWNER.compareAndSet(this, null, ENDED)) {
            step.accept(call);
        } else if (owner instanceof EventLoop loop) {
            if (loop.inEventLoop()) {
                take(call, step);
                return;
            }
            try {
                loop.execute(() -> take(call, step));
            } catch (RejectedExecutionException e) {
                // The loop is shut down, so no other thread takes a step.
                take(call, step);
            }
        }
    }

    private void take(TimedCall call, Consumer<TimedCall> step) {
        if (!over) {
            step.accept(call);
        }
    }

    /** The call has its answer. Ignored after the call has ended. */
    public void completed(long at) {
        step(timed -> timed.completed(at));
    }

    /** The caller cancels the call. Ignored after the call has ended. */
    public void cancelled() {
        long at = System.nanoTime();
        step(timed -> timed.cancelled(at));
    }

    /**
     * The call failed. Ignored after the call has ended.
     *
     * @param own returns the kind of an error that only the client's library throws, or null
     */
    public void failed(Throwable error, Function<Throwable, @Nullable ErrorKind> own) {
        long at = System.nanoTime();
        step(timed -> timed.failed(at, ErrorKinds.of(error, own), error));
    }

    /**
     * Binds the attempt to the connection.
     *
     * @param since when the connection became idle; 0 for a new connection
     * @param number of the request on the connection, from 1
     */
    void serve(NettyConnection by, long since, int number) {
        connection = by;
        ordinal = number;
        free = since;
        if (number > 1 || by.connect.serve(this)) {
            acquired(by);
        }
    }

    /** The connection is ready. */
    private void acquired(NettyConnection by) {
        acquired = true;
        KernelProbe probe = by.probe;
        if (probe != null) {
            probe.begin();
        }
        TimedCall call = owned();
        if (call != null) {
            acquired(call, by);
        } else {
            step(timed -> acquired(timed, by));
        }
    }

    private void acquired(TimedCall timed, NettyConnection by) {
        timed.proxy(by.connect.proxy());
        // The connection was idle until this attempt began. If it was in use then, the attempt waited for it.
        long until = timed.attemptStartedAt();
        if (ordinal > 1 && free > until) {
            until = System.nanoTime();
            timed.queued(until);
        }
        timed.connectionAcquired(by.id, ordinal > 1 && free > 0 ? Math.max(0, until - free) : -1, ordinal);
    }

    /** The connection is ready. A client may have written the request before, which left with the last step of the connect. */
    void connected() {
        if (connection != null) {
            acquired(connection);
        }
        if (writes > 0) {
            begins(System.nanoTime());
        }
        if (sent) {
            sent();
        }
    }

    /** The client writes the head. */
    void writes(HttpRequest head) {
        keepsAlive = record != null && record.wantsEvents() && HttpUtil.isKeepAlive(head);
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
        TimedCall call = owned();
        if (call != null) {
            call.requestWrite();
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
            begins(at);
        }
    }

    private void begins(long at) {
        TimedCall call = owned();
        if (call != null) {
            call.begin(Phase.SEND, at, null);
        } else {
            step(timed -> timed.begin(Phase.SEND, at, null));
        }
    }

    /** The client writes the end of the request. */
    ChannelPromise last(ChannelPromise write) {
        if (record == null) {
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
        long at = System.nanoTime();
        TimedCall call = owned();
        if (call != null) {
            call.requestEnd(at, bytes, writes);
        } else {
            long size = bytes;
            int count = writes;
            step(timed -> timed.requestEnd(at, size, count));
        }
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
        long at = System.nanoTime();
        step(timed -> timed.informational(at, code));
    }

    /**
     * The codec decoded the head of the final answer. An answer without a body ends here, even if the client reads no further.
     *
     * @param empty whether the head says that no body follows
     * @param single whether no other request is in flight: only then the kernel's counters belong to this request
     */
    void head(int code, boolean empty, long lastRead, boolean single) {
        long at = firstRead == 0 ? lastRead : firstRead;
        TimedCall call = owned();
        if (call != null) {
            head(call, at, code, single);
        } else {
            step(timed -> head(timed, at, code, false));
        }
        if (isHead || empty) {
            responseEnd(lastRead, 0);
        }
    }

    private void head(TimedCall timed, long at, int code, boolean single) {
        timed.responseStart(at);
        KernelProbe probe = single && connection != null ? connection.probe : null;
        if (probe != null) {
            probe.end(timed, writes);
        }
        timed.headersEnd(code);
    }

    void responseEnd(long at, long size) {
        TimedCall call = owned();
        if (call != null) {
            call.responseEnd(at, size);
        } else {
            step(timed -> timed.responseEnd(at, size));
        }
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
        TimedCall call = owned();
        if (call != null) {
            call.connectionReleased(at, again && keepsAlive);
        } else {
            step(timed -> timed.connectionReleased(at, again && keepsAlive));
        }
        return true;
    }
}
