package io.github.onewrite.client.internal;

import io.github.onewrite.netty.NettyConnection;
import io.github.onewrite.netty.OnewriteNetty;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.handler.codec.http.HttpContentDecompressor;
import io.netty.handler.codec.http.HttpObject;
import io.netty.handler.codec.http.HttpRequestEncoder;
import io.netty.handler.ssl.SslCloseCompletionEvent;
import io.netty.util.ReferenceCountUtil;
import java.util.Objects;
import java.util.concurrent.Future;
import java.util.concurrent.ThreadLocalRandom;
import org.jspecify.annotations.Nullable;

/**
 * A connection of a pool, and the last handler of its channel. While a call has it, messages go to the call's
 * exchange. While it is idle, anything that arrives, a FIN or stray bytes, closes it: an unrequested response must never
 * answer the next request.
 */
final class Connection extends ChannelInboundHandlerAdapter {
    private final OriginPool pool;
    private final Channel channel;
    private final NettyConnection timing;
    private final ResponseDecoder decoder;
    private final Timekeeper time;

    /** When the connection reaches its maximum lifetime, or 0. */
    private final long expiresAt;

    /** Whether a call has it; the pool's. */
    boolean leased;

    private @Nullable ChannelHandlerContext ctx;
    private @Nullable Exchange user;
    private int requests;
    private long idleSince;
    private long idleLimit;
    private long deadline;
    private long checkAt;
    private @Nullable Future<?> check;

    private Connection(OriginPool pool, Channel channel, NettyConnection timing, ClientSettings settings) {
        this.pool = pool;
        this.channel = channel;
        this.timing = timing;
        this.decoder = new ResponseDecoder(this, settings);
        this.time = settings.time();
        this.expiresAt = expiry(settings);
        this.idleLimit = settings.idleLimit();
    }

    /** Adds the HTTP handlers to a channel that is connected, and encrypted if need be. */
    static Connection on(Channel channel, OriginPool pool, ClientSettings settings) {
        NettyConnection timing = Objects.requireNonNull(NettyConnection.of(channel), "not attached");
        Connection connection = new Connection(pool, channel, timing, settings);
        channel.pipeline().addLast(connection.decoder, new HttpRequestEncoder());
        timing.place(OnewriteNetty.create().config(settings.config()).onTiming(any -> {}), false);
        if (settings.decompress()) {
            channel.pipeline().addLast(new HttpContentDecompressor(false, 0));
        }
        channel.pipeline().addLast(connection);
        return connection;
    }

    /** The lifetime, shortened by up to a tenth at random: connections made together do not all end together. */
    private static long expiry(ClientSettings settings) {
        long lifetime = settings.maxLifetime();
        return lifetime == 0
                ? 0
                : settings.time().nanoTime()
                        + lifetime
                        - ThreadLocalRandom.current().nextLong(lifetime / 10 + 1);
    }

    Channel channel() {
        return channel;
    }

    /** The context for writing. */
    ChannelHandlerContext context() {
        return Objects.requireNonNull(ctx, "not in the pipeline");
    }

    /** The exchange is over, and gives the connection back. */
    void release(boolean reusable) {
        user = null;
        deadline = 0;
        try {
            timing.release(reusable);
        } finally {
            pool.release(this, reusable);
        }
    }

    /** Requests carried so far. */
    int requests() {
        return requests;
    }

    /**
     * A request begins.
     *
     * @param head whether its method is HEAD
     */
    void begin(Exchange next, boolean head, OnewriteNetty.Call call) {
        user = next;
        requests++;
        decoder.expect(head);
        timing.serve(call);
    }

    boolean expectsResponse() {
        return user != null;
    }

    void idleFrom(long now) {
        idleSince = now;
    }

    /** Closes the connection before the server does, whose Keep-Alive header announced its limit. */
    void limitIdle(long nanos) {
        idleLimit = idleLimit == 0 ? nanos : Math.min(idleLimit, nanos);
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

    void strayBytes() {
        pool.evict(this);
    }

    void refuse(String what) {
        Exchange current = user;
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
     * A number that falls whenever the socket takes bytes: the bytes that are pending, less the progress of the current
     * message, so negative for file regions. Netty's IdleStateHandler uses the same two (observeOutput).
     */
    long backlog() {
        ChannelOutboundBuffer out = channel.unsafe().outboundBuffer();
        return out == null ? 0 : out.totalPendingWriteBytes() - out.currentProgress();
    }

    /** Sets the time at which {@link Exchange#overdue} is called; 0 cancels it. */
    void deadline(long at) {
        deadline = at;
        // One scheduled task serves many requests: when it fires too early it is scheduled again.
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
        Exchange current = user;
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
        Exchange current = user;
        if (current == null || !(message instanceof HttpObject part)) {
            ReferenceCountUtil.release(message);
            pool.evict(this);
            return;
        }
        current.read(part);
    }

    @Override
    public void channelReadComplete(ChannelHandlerContext context) {
        Exchange current = user;
        if (current != null) {
            current.readComplete();
        }
    }

    @Override
    public void channelWritabilityChanged(ChannelHandlerContext context) {
        Exchange current = user;
        if (current != null && channel.isWritable()) {
            current.writable();
        }
    }

    @Override
    public void channelInactive(ChannelHandlerContext context) {
        if (check != null) {
            check.cancel(false);
        }
        Exchange current = user;
        if (current != null) {
            current.closed();
        }
    }

    @Override
    public void userEventTriggered(ChannelHandlerContext context, Object event) {
        if (event instanceof SslCloseCompletionEvent && user == null) {
            pool.evict(this);
        }
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
        Exchange current = user;
        if (current != null) {
            current.broken(cause);
        } else {
            pool.evict(this);
        }
    }
}
