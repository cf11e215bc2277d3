package io.github.onewrite.client.internal;

import io.github.onewrite.ErrorKind;
import io.github.onewrite.OnewriteException;
import io.github.onewrite.client.PoolStats;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFactory;
import io.netty.channel.EventLoop;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import org.jspecify.annotations.Nullable;

/**
 * The connections to one origin that live on one event loop, and the calls that wait for one. All state is touched on
 * that loop alone, so there are no locks and no hop between getting a connection and writing to it.
 *
 * <p>Waiting calls are served first come, first served; idle connections are reused last in, first out, so that those not needed
 * expire. A connection that is being opened belongs to the call that caused it; when that call was cancelled, it goes to
 * the next waiter.
 */
public final class OriginPool {
    private final Pools pools;
    private final Origin origin;
    private final EventLoop loop;
    private final ClientSettings settings;
    private final ChannelFactory<?> channels;
    private final ArrayDeque<Connection> idle = new ArrayDeque<>();
    private final ArrayDeque<Call> waiters = new ArrayDeque<>();
    private final Set<Connection> connections = new HashSet<>();
    private final Set<Connecting> openings = new HashSet<>();
    private @Nullable Future<?> sweep;
    private long sweepAt;
    private @Nullable CompletableFuture<Void> drained;
    private boolean removed;

    /** All connections: connecting, leased, idle, and those whose close is under way. */
    private int open;

    private int leased;

    // Counters for other threads: written on the loop only, and only when they change.
    private volatile int activeNow;
    private volatile int idleNow;
    private volatile int connectingNow;
    private volatile int pendingNow;
    private volatile long openedNow;

    private long opened;

    OriginPool(Pools pools, Origin origin, EventLoop loop, ClientSettings settings, ChannelFactory<?> channels) {
        this.pools = pools;
        this.origin = origin;
        this.loop = loop;
        this.settings = settings;
        this.channels = channels;
    }

    public Origin origin() {
        return origin;
    }

    public EventLoop loop() {
        return loop;
    }

    public ClientSettings settings() {
        return settings;
    }

    /** This pool or, if it was removed while a call was on its way here, the one in its place. */
    public OriginPool current() {
        if (!removed) {
            return this;
        }
        OriginPool next = pools.of(origin);
        if (pools.isClosed()) {
            // The close may not have seen it.
            next.drain();
        }
        return next;
    }

    /** Removes the pool when it is of no use. */
    public void removeIfEmpty() {
        if (open == 0 && waiters.isEmpty() && drained == null) {
            removed = true;
            pools.remove(this);
        }
    }

    /** Gives the call a connection: an idle one at once, else a new one, else the next that is free. */
    void acquire(Call call) {
        if (drained != null) {
            call.failed(new OnewriteException(ErrorKind.POOL, "the client is closed"));
            return;
        }
        long now = settings.time().nanoTime();
        for (Connection candidate = idle.pollFirst(); candidate != null; candidate = idle.pollFirst()) {
            if (candidate.usable(now)) {
                lease(candidate, call);
                return;
            }
            candidate.close();
        }
        if (open < settings.maxConnections()) {
            connect(call);
        } else if (waiters.size() < settings.maxWaiters()) {
            waiters.addLast(call);
            call.queued(settings.queueTimeout());
            // Last: who reads of a waiter may rely on its time limit.
            publish();
        } else {
            call.failed(new OnewriteException(
                    ErrorKind.POOL,
                    "the queue for " + origin + " is full: " + waiters.size() + " calls wait for "
                            + settings.maxConnections()
                            + " connections; raise maxConnectionsPerOrigin or send fewer at a time"));
        }
    }

    /** The call gives up waiting. */
    void leave(Call call) {
        if (waiters.remove(call)) {
            publish();
        } else {
            openings.forEach(each -> each.abandonedBy(call));
        }
    }

    /** Takes a connection back, before the caller gets the response, so that a sequential caller needs only one. */
    void release(Connection connection, boolean reusable) {
        unlease(connection);
        publish();
        long now = settings.time().nanoTime();
        if (!reusable
                || drained != null
                || connection.outlived(now)
                || !connection.channel().isActive()) {
            connection.close();
            return;
        }
        offer(connection, now);
    }

    /** Closes an idle connection at once. */
    void evict(Connection connection) {
        idle.remove(connection);
        publish();
        connection.close();
    }

    void connected(Connecting made, Channel channel) {
        openings.remove(made);
        opened++;
        openedNow = opened;
        pools.countOpened();
        Connection connection = Connection.on(channel, this, settings);
        connections.add(connection);
        channel.closeFuture().addListener(closed -> closed(connection));
        Call owner = made.owner();
        if (owner != null) {
            lease(connection, owner);
        } else if (drained != null) {
            connection.close();
        } else {
            offer(connection, settings.time().nanoTime());
        }
    }

    /** A failed connect fails only the call for which it was started. */
    void failed(Connecting made, OnewriteException why) {
        openings.remove(made);
        open--;
        publish();
        Call owner = made.owner();
        if (owner != null) {
            owner.failed(why);
        }
        afterOneLess();
    }

    /** Refuses new calls and fails waiting ones; completes when no call has a connection any more. */
    public CompletableFuture<Void> drain() {
        if (drained == null) {
            drained = new CompletableFuture<>();
            for (Call call = waiters.pollFirst(); call != null; call = waiters.pollFirst()) {
                call.failed(new OnewriteException(ErrorKind.POOL, "the client was closed while the call waited"));
            }
            List.copyOf(idle).forEach(this::evict);
            publish();
            doneWhenEmpty();
        }
        return drained;
    }

    /** Closes the connections that are still opening or leased after a drain. */
    public void abort() {
        new ArrayList<>(openings).forEach(Connecting::abort);
        new ArrayList<>(connections).forEach(Connection::close);
    }

    /** The loop was shut down before the client: fails all calls, on the thread that notices. */
    public synchronized void loopIsGone() {
        drain();
        abort();
    }

    public PoolStats stats() {
        return new PoolStats(activeNow, idleNow, connectingNow, pendingNow, openedNow);
    }

    private void connect(Call call) {
        open++;
        Connecting next = new Connecting(this, channels, call);
        call.waitsFor(next);
        openings.add(next);
        next.start();
        publish(); // after the time limit was planned
    }

    private void lease(Connection connection, Call call) {
        connection.leased = true;
        leased++;
        publish();
        call.acquired(connection);
    }

    private void unlease(Connection connection) {
        if (connection.leased) {
            connection.leased = false;
            leased--;
        }
    }

    private void offer(Connection connection, long now) {
        Call next = waiters.pollFirst();
        if (next != null) {
            next.queueLeft();
            lease(connection, next);
            return;
        }
        connection.idleFrom(now);
        idle.addFirst(connection);
        publish();
        sweepBy(connection.evictAt(), now);
    }

    private void closed(Connection connection) {
        idle.remove(connection);
        connections.remove(connection);
        unlease(connection);
        open--;
        afterOneLess();
    }

    private void afterOneLess() {
        if (drained == null && open < settings.maxConnections()) {
            Call next = waiters.pollFirst();
            if (next != null) {
                next.queueLeft();
                connect(next);
                return;
            }
        }
        publish();
        doneWhenEmpty();
        removeIfEmpty();
    }

    /** Schedules a sweep of the idle connections, unless one is scheduled early enough. */
    private void sweepBy(long at, long now) {
        if (at == Long.MAX_VALUE || (sweep != null && sweepAt <= at)) {
            return;
        }
        if (sweep != null) {
            sweep.cancel(false);
        }
        sweepAt = at;
        sweep = settings.time().after(at - now, loop, this::sweep);
    }

    private void sweep() {
        sweep = null;
        long now = settings.time().nanoTime();
        long next = Long.MAX_VALUE;
        for (Connection connection : List.copyOf(idle)) {
            if (connection.usable(now)) {
                next = Math.min(next, connection.evictAt());
            } else {
                evict(connection);
            }
        }
        sweepBy(next, now);
    }

    private void doneWhenEmpty() {
        if (drained != null && open == 0) {
            drained.complete(null);
        }
    }

    private void publish() {
        if (activeNow != leased) {
            activeNow = leased;
        }
        if (idleNow != idle.size()) {
            idleNow = idle.size();
        }
        if (connectingNow != openings.size()) {
            connectingNow = openings.size();
        }
        if (pendingNow != waiters.size()) {
            pendingNow = waiters.size();
        }
    }
}
