package io.github.onewrite.netty.internal;

import io.github.onewrite.ErrorKind;
import io.github.onewrite.internal.ErrorKinds;
import io.github.onewrite.internal.Hooks;
import io.github.onewrite.internal.Moment;
import io.github.onewrite.internal.Stamps;
import io.netty.channel.Channel;
import io.netty.channel.pool.ChannelPool;
import io.netty.util.concurrent.Future;
import io.netty.util.concurrent.Promise;
import java.util.concurrent.RejectedExecutionException;

/** Tells connections when they were asked for. An acquire that fails has a record. */
final class TimedPool implements ChannelPool {
    private final ChannelPool pool;
    private final String origin;
    private final NettySetup setup;

    TimedPool(ChannelPool pool, String origin, NettySetup setup) {
        this.pool = pool;
        this.origin = origin;
        this.setup = setup;
    }

    @Override
    public Future<Channel> acquire() {
        boolean byHook = Hooks.running();
        long asked = System.nanoTime();
        return pool.acquire().addListener((Future<Channel> done) -> acquired(done, asked, byHook));
    }

    @Override
    public Future<Channel> acquire(Promise<Channel> promise) {
        boolean byHook = Hooks.running();
        long asked = System.nanoTime();
        promise.addListener((Future<Channel> done) -> acquired(done, asked, byHook));
        return pool.acquire(promise);
    }

    private void acquired(Future<Channel> done, long asked, boolean byHook) {
        if (!done.isSuccess()) {
            if (!byHook) {
                failed(done.cause(), asked);
            }
            return;
        }
        Channel channel = done.getNow();
        NettyConnection connection = NettyConnection.of(channel);
        if (connection == null) {
            return; // Made before there was a hook.
        }
        if (channel.eventLoop().inEventLoop()) {
            connection.requested(asked, byHook, 0);
            return;
        }
        try {
            channel.eventLoop().execute(() -> connection.requested(asked, byHook, 0));
        } catch (RejectedExecutionException e) {
            // The loop is shut down: the request is written in vain.
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
