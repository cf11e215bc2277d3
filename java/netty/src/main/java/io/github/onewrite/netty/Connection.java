package io.github.onewrite.netty;

import io.github.onewrite.internal.netty.KernelProbe;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.handler.codec.http.HttpObject;
import io.netty.handler.ssl.SslCloseCompletionEvent;
import io.netty.util.ReferenceCountUtil;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * A connection of a pool, and the last handler of its channel. While a call has it, what is read goes to the call's
 * exchange; while idle, whatever is read, a FIN or a stray byte alike, ends it: an answer to nothing must never
 * become the answer to the next request.
 */
final class Connection extends ChannelInboundHandlerAdapter {
    private static final AtomicLong IDS = new AtomicLong();

    private final long id = IDS.incrementAndGet();
    private final OriginPool pool;
    private final Channel channel;
    private final WireHandler wire;
    private final ResponseDecoder decoder;
    private final @Nullable KernelProbe probe;
    private final Timekeeper time;

    /** When the connection is too old to be used again, or 0. */
    private final long expiresAt;

    private @Nullable ChannelHandlerContext ctx;
    private @Nullable Exchange exchange;
    private int requests;
    private long idleSince;
    private long idleLimit;
    private long deadline;
    private long checkAt;
    private @Nullable Future<?> check;

    Connection(
            OriginPool pool,
            Channel channel,
            WireHandler wire,
            ResponseDecoder decoder,
            @Nullable KernelProbe probe,
            long expiresAt) {
        this.pool = pool;
        this.channel = channel;
        this.wire = wire;
        this.decoder = decoder;
        this.probe = probe;
        this.expiresAt = expiresAt;
        this.time = pool.settings().time();
        wire.serve(this);
        decoder.serve(this);
        this.idleLimit = pool.settings().idleLimit();
    }

    long id() {
        return id;
    }

    Channel channel() {
        return channel;
    }

    /** For writing; the handler is in place before the connection is handed to anyone. */
    ChannelHandlerContext context() {
        return java.util.Objects.requireNonNull(ctx, "not in the pipeline");
    }

    WireHandler wire() {
        return wire;
    }

    @Nullable
    KernelProbe probe() {
        return probe;
    }

    OriginPool pool() {
        return pool;
    }

    /** Requests carried so far. */
    int requests() {
        return requests;
    }

    long idleSince() {
        return idleSince;
    }

    @Nullable
    Exchange exchange() {
        return exchange;
    }

    void begin(Exchange next) {
        exchange = next;
        requests++;
    }

    /** The exchange is over. The pool is told by the exchange. */
    void end() {
        exchange = null;
        deadline = 0;
    }

    void idleFrom(long now) {
        idleSince = now;
    }

    /** A server that announces its keep-alive time is left before it leaves us. */
    void limitIdle(long nanos) {
        idleLimit = Math.min(idleLimit, nanos);
    }

    /** When an idle connection is to be closed, or Long.MAX_VALUE. */
    long evictAt() {
        long byIdle = idleLimit == 0 ? Long.MAX_VALUE : idleSince + idleLimit;
        return expiresAt == 0 ? byIdle : Math.min(byIdle, expiresAt);
    }

    boolean usable(long now) {
        return channel.isActive() && now < evictAt();
    }

    boolean outlived(long now) {
        return expiresAt != 0 && now >= expiresAt;
    }

    /** Bytes came while nobody waited for any. */
    void strayBytes() {
        pool.evict(this);
    }

    /** What arrives is no response. */
    void refuse(String what) {
        Exchange current = exchange;
        if (current != null) {
            current.refuse("sent " + what);
        }
    }

    /** Whether bytes beyond the last response wait in the decoder. */
    boolean hasLeftover() {
        return decoder.hasLeftover();
    }

    void close() {
        channel.close();
    }

    /**
     * Bytes written that the socket has not taken yet, file regions as less than none: it falls whenever the socket
     * takes some. Netty's IdleStateHandler looks at the same two (observeOutput).
     */
    long backlog() {
        ChannelOutboundBuffer out = channel.unsafe().outboundBuffer();
        return out == null ? 0 : out.totalPendingWriteBytes() - out.currentProgress();
    }

    /** Sets the moment at which the exchange is told {@link Exchange#overdue}; 0 takes it back. */
    void deadline(long at) {
        deadline = at;
        // One planned check serves many requests: it looks when it fires, and plans itself anew.
        if (at != 0 && (check == null || at < checkAt)) {
            plan(at);
        }
    }

    private void plan(long at) {
        if (check != null) {
            check.cancel(false);
        }
        checkAt = at;
        check = time.after(at - time.nanoTime(), channel.eventLoop(), this::checkDeadline);
    }

    private void checkDeadline() {
        check = null;
        Exchange current = exchange;
        if (deadline == 0 || current == null || !channel.isActive()) {
            return;
        }
        if (time.nanoTime() >= deadline) {
            deadline = 0;
            current.overdue();
        } else {
            plan(deadline);
        }
    }

    @Override
    public void handlerAdded(ChannelHandlerContext context) {
        ctx = context;
    }

    @Override
    public void channelRead(ChannelHandlerContext context, Object message) {
        Exchange current = exchange;
        if (current == null || !(message instanceof HttpObject part)) {
            ReferenceCountUtil.release(message);
            pool.evict(this);
            return;
        }
        current.read(part);
    }

    @Override
    public void channelReadComplete(ChannelHandlerContext context) {
        Exchange current = exchange;
        if (current != null) {
            current.readComplete();
        }
    }

    @Override
    public void channelWritabilityChanged(ChannelHandlerContext context) {
        Exchange current = exchange;
        if (current != null && channel.isWritable()) {
            current.writable();
        }
    }

    @Override
    public void channelInactive(ChannelHandlerContext context) {
        if (check != null) {
            check.cancel(false);
        }
        Exchange current = exchange;
        if (current != null) {
            current.closed();
        }
    }

    @Override
    public void userEventTriggered(ChannelHandlerContext context, Object event) {
        if (event instanceof SslCloseCompletionEvent && exchange == null) {
            pool.evict(this);
        }
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
        Exchange current = exchange;
        if (current != null) {
            current.broken(cause);
        } else {
            pool.evict(this);
        }
    }
}
