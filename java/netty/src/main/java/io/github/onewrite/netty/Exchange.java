package io.github.onewrite.netty;

import io.github.onewrite.internal.TimedAttempt;
import io.github.onewrite.internal.TimedCall;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelPromise;
import org.jspecify.annotations.Nullable;

/**
 * One request of a connection and its answer, with the call and the attempt that it belongs to. Completes when the last
 * write of the request does. Owned by the channel's loop, but for the call's own loop in {@link #attempt}.
 */
final class Exchange implements ChannelFutureListener {
    private final NettyConnection connection;
    private final OnewriteNetty.Call call;
    private @Nullable TimedAttempt attempt;
    private int requests;

    private @Nullable ChannelPromise lastWrite;
    private boolean connected = true;
    private boolean released;
    private boolean pending;
    private boolean late;
    private long bytes;
    private int writes;
    private long firstRead;
    private long lateEnd;

    Exchange(NettyConnection connection, OnewriteNetty.Call call) {
        this.connection = connection;
        this.call = call;
    }

    OnewriteNetty.Call call() {
        return call;
    }

    boolean isTimed() {
        return call.isTimed() && !released;
    }

    /**
     * Binds the call to the connection.
     *
     * @param free since when the connection has been idle, 0 when it has carried no request
     */
    void serve(ConnectTimes times, long free, int ordinal) {
        requests = ordinal;
        call.step(null, 0, (timed, none) -> begin(timed));
        connected = ordinal > 1 || times.serve(this);
        if (connected) {
            acquired(free);
        }
    }

    private void begin(TimedCall timed) {
        if (timed.current() == null) {
            timed.attempt(System.nanoTime());
        }
        attempt = timed.current();
    }

    private void acquired(long free) {
        if (connection.probe() != null) {
            connection.probe().begin();
        }
        step(free, this::acquired);
    }

    private void acquired(TimedCall timed, long free) {
        // Idle until this call wanted it, unless another call had it then.
        long until = timed.attemptStartedAt();
        if (free > until) {
            until = System.nanoTime();
            timed.queued(until);
        }
        timed.connectionAcquired(connection.id(), free == 0 ? -1 : Math.max(0, until - free), requests);
    }

    /** The connection is ready. The request may have been written before. */
    void connected() {
        connected = true;
        acquired(0);
        if (writes > 0) {
            step(System.nanoTime(), TimedCall::requestStart);
        }
    }

    /** The head was encoded before the handlers were in place: the end of its write stands for that of the last write. */
    ChannelPromise late(ChannelPromise head) {
        late = true;
        return head.addListener(this);
    }

    /** Bytes are written: below the codec, so in the scope of a tracer that stands between it and the client. */
    void wrote(long size) {
        if (!call.isTimed()) {
            return;
        }
        if (bytes == 0) {
            requestWrite();
        }
        bytes += size;
        pending |= size > 0;
    }

    /** Listeners are called on this thread, or not at all: a tracer's scope is here. */
    void requestWrite() {
        if (call.listens()) {
            Thread here = Thread.currentThread();
            step(0, (timed, at) -> {
                if (Thread.currentThread() == here) {
                    timed.requestWrite();
                }
            });
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
        if (writes++ == 0 && connected) {
            step(at, TimedCall::requestStart);
        }
    }

    /** The first bytes of a connection may leave before they are flushed: SslHandler does so when its handshake ends. */
    ChannelPromise first(ChannelPromise write) {
        if (!call.isTimed() || requests != 1 || writes > 0) {
            return write;
        }
        long at = System.nanoTime();
        return write.unvoid().addListener(done -> {
            if (done.isSuccess() && pending) {
                flushes(at);
            }
        });
    }

    /** The end of the request is being written. */
    ChannelPromise last(ChannelPromise write) {
        lastWrite = write;
        return write;
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

    @Override
    public void operationComplete(ChannelFuture write) {
        if (!write.isSuccess() || !call.isTimed()) {
            return;
        }
        long at = System.nanoTime();
        if (late) {
            late = false;
            lateEnd = at;
        } else {
            requestEnd(at);
        }
    }

    private void requestEnd(long at) {
        long sent = bytes;
        int flushes = writes;
        step(at, (timed, time) -> timed.requestEnd(time, sent, flushes));
    }

    /** Bytes of the answer are read. */
    void read(long at) {
        if (firstRead == 0) {
            firstRead = at;
        }
    }

    /** The bytes so far were an interim response: the final one begins with the next. */
    void interim(int status) {
        firstRead = 0;
        step(System.nanoTime(), (timed, at) -> timed.informational(at, status));
    }

    /** @param alone whether no other request is in flight, so that the kernel's evidence is this one's */
    void head(int status, long lastRead, boolean alone) {
        if (lateEnd != 0) {
            requestEnd(lateEnd);
        }
        long at = firstRead == 0 ? lastRead : firstRead;
        step(at, (timed, time) -> head(timed, time, status, alone));
    }

    private void head(TimedCall timed, long at, int status, boolean alone) {
        timed.responseStart(at);
        KernelProbe probe = connection.probe();
        if (alone && probe != null && timed.waited() >= 0 && connection.loop().inEventLoop()) {
            probe.end(timed, timed.waited());
        }
        timed.headersEnd(status);
    }

    void responseEnd(long at, long received) {
        step(at, (timed, time) -> timed.responseEnd(time, received));
    }

    /**
     * The connection serves the call no more.
     *
     * @return false when it did not before
     */
    boolean release(long at, boolean reusable) {
        if (!isTimed()) {
            return false;
        }
        released = true;
        step(at, (timed, time) -> timed.connectionReleased(time, reusable));
        return true;
    }

    /** The call is answered. */
    void completed(long at) {
        step(at, TimedCall::completed);
    }

    /** Takes a step of this attempt; ignored when the attempt is over. */
    void step(long at, OnewriteNetty.Step step) {
        call.step(this, at, step);
    }

    /** On the call's loop: whether its present attempt is this one. */
    boolean isUnderWay(TimedCall timed) {
        return attempt != null && attempt == timed.current();
    }
}
