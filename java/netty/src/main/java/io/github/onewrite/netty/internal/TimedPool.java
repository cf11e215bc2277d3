package io.github.onewrite.netty.internal;

import io.github.onewrite.ErrorKind;
import io.github.onewrite.internal.ErrorKinds;
import io.github.onewrite.internal.Hooks;
import io.github.onewrite.internal.Moment;
import io.github.onewrite.internal.Stamps;
import io.netty.channel.Channel;
import io.netty.channel.pool.ChannelPool;
import io.netty.util.concurrent.EventExecutorGroup;
import io.netty.util.concurrent.Future;
import io.netty.util.concurrent.ImmediateEventExecutor;
import io.netty.util.concurrent.Promise;
import java.util.concurrent.RejectedExecutionException;

/** Passes the time of each acquire to the connection. An acquire that fails has a record. */
final class TimedPool implements ChannelPool {
    private final ChannelPool pool;
    private final String origin;
    private final NettySetup setup;
    private final EventExecutorGroup executors;

    /** @param executors where listeners of a channel that is acquired run: those of the pool's bootstrap */
    TimedPool(ChannelPool pool, String origin, NettySetup setup, EventExecutorGroup executors) {
        this.pool = pool;
        this.origin = origin;
        this.setup = setup;
        this.executors = executors;
    }

    @Override
    public Future<Channel> acquire() {
        return acquire(executors.next().newPromise());
    }

    /** A promise of its own comes before the program's, which wakes those who wait before it calls a listener. */
    @Override
    public Future<Channel> acquire(Promise<Channel> promise) {
        boolean byHook = Hooks.running();
        long asked = System.nanoTime();
        Promise<Channel> inner = ImmediateEventExecutor.INSTANCE.newPromise();
        inner.addListener((Future<Channel> done) -> {
            if (!done.isSuccess()) {
                if (!byHook) {
                    failed(done.cause(), asked);
                }
                promise.tryFailure(done.cause());
                return;
            }
            acquired(done.getNow(), asked, byHook);
            if (!promise.trySuccess(done.getNow())) {
                pool.release(done.getNow()); // It was cancelled meanwhile.
            }
        });
        promise.addListener(done -> {
            if (done.isCancelled()) {
                inner.cancel(false);
            }
        });
        pool.acquire(inner);
        return promise;
    }

    private void acquired(Channel channel, long asked, boolean byHook) {
        NettyConnection connection = NettyConnection.of(channel);
        if (connection == null) {
            return; // Made before there was a hook.
        }
        if (channel.eventLoop().inEventLoop()) {
            requested(channel, connection, asked, byHook);
            return;
        }
        try {
            channel.eventLoop().execute(() -> requested(channel, connection, asked, byHook));
        } catch (RejectedExecutionException e) {
            // The loop is shut down: the request is written in vain.
        }
    }

    private void requested(Channel channel, NettyConnection connection, long asked, boolean byHook) {
        Stamps record = connection.requested(asked, byHook, 0);
        if (record != null) {
            record.origin = origin; // Until there is a request: the connection may fail before.
        }
        if (!channel.isRegistered()) {
            connection.closed(); // A proxy refused while the pool handed the channel over.
        }
    }

    /** The time until a connect began is not known here: it counts to the step that failed. */
    private void failed(Throwable why, long asked) {
        Stamps record = new Stamps(asked);
        record.origin = origin;
        ErrorKind kind = ErrorKinds.of(why, NettyErrors::kindOf);
        switch (kind) {
            case POOL, CANCELLED -> record.stamp(Moment.QUEUE_START, asked);
            case DNS -> record.stamp(Moment.DNS_START, asked);
            default -> record.stamp(Moment.CONNECT_START, asked);
        }
        record.failed(kind, System.nanoTime());
        setup.deliver(record);
    }

    @Override
    public Future<Void> release(Channel channel) {
        return pool.release(channel);
    }

    @Override
    public Future<Void> release(Channel channel, Promise<Void> promise) {
        return pool.release(channel, promise);
    }

    @Override
    public void close() {
        pool.close();
    }
}
