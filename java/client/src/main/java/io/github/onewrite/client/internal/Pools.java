package io.github.onewrite.client.internal;

import io.netty.channel.EventLoop;
import io.netty.util.concurrent.EventExecutor;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The pools of a client. An origin has one, on one event loop. A pool without connections and calls is removed: a
 * crawler, or a service that calls many tenants, has no end of origins.
 */
public final class Pools {
    private final Map<Origin, OriginPool> byOrigin = new ConcurrentHashMap<>();
    private final List<EventLoop> loops = new ArrayList<>();
    private final AtomicBoolean closed = new AtomicBoolean();
    private final AtomicLong opened = new AtomicLong();
    private final ClientSettings settings;
    private final Transport transport;

    public Pools(ClientSettings settings, Transport transport) {
        this.settings = settings;
        this.transport = transport;
        for (EventExecutor each : transport.group()) {
            loops.add((EventLoop) each);
        }
    }

    public List<EventLoop> loops() {
        return loops;
    }

    /** The pool of an origin, which is added if there is none. */
    public OriginPool of(Origin origin) {
        OriginPool known = byOrigin.get(origin);
        return known != null ? known : byOrigin.computeIfAbsent(origin, this::newPool);
    }

    /** All have the same loop for an origin, so that an old pool and the one in its place cannot race. */
    private OriginPool newPool(Origin origin) {
        EventLoop loop = loops.get(Math.floorMod(origin.hashCode(), loops.size()));
        return new OriginPool(this, origin, loop, settings, transport.channels());
    }

    /** The pool is empty: a new one is made when its origin is called again. */
    void remove(OriginPool pool) {
        byOrigin.remove(pool.origin(), pool);
    }

    void countOpened() {
        opened.incrementAndGet();
    }

    /** Connections made since the client was built. */
    public long opened() {
        return opened.get();
    }

    public Collection<OriginPool> all() {
        return byOrigin.values();
    }

    /** Takes no more calls. @return false when it was closed before */
    public boolean close() {
        return closed.compareAndSet(false, true);
    }

    public boolean isClosed() {
        return closed.get();
    }
}
