package io.github.onewrite.client;

import io.github.onewrite.netty.internal.NettyConnection;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.handler.codec.http.HttpObject;
import io.netty.handler.ssl.SslCloseCompletionEvent;
import io.netty.util.AttributeKey;
import java.util.Objects;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The last handler of a pooled channel. It gives what arrives to the exchange that uses the channel, and closes an unused
 * channel on which something arrives. It also keeps the time limit of that exchange: one timer per channel, which is
 * scheduled again only when it runs out, because a timer per call costs more than the rest of the limit.
 */
final class Connection extends SimpleChannelInboundHandler<HttpObject> implements Runnable {
    /** A closed channel has its handlers no more. */
    private static final AttributeKey<Connection> KEY = AttributeKey.valueOf(Connection.class, "connection");

    final Channel channel;
    private final @Nullable NettyConnection wire;
    private final OnewriteClientBuilder settings;
    private final long created = System.nanoTime();
    private long freeSince = created;
    private @Nullable Call<?> exchange;

    /** In System.nanoTime; 0 for none. */
    private long deadline;

    private @Nullable Future<?> timer;
    private long timerDue;

    /** @param wire times the calls; null where that is disabled */
    Connection(Channel channel, @Nullable NettyConnection wire, OnewriteClientBuilder settings) {
        this.channel = channel;
        this.wire = wire;
        this.settings = settings;
        channel.attr(KEY).set(this);
    }

    static Connection of(Channel channel) {
        return Objects.requireNonNull(channel.attr(KEY).get());
    }

    void begin(Call<?> by) {
        exchange = by;
        if (wire != null) {
            wire.serve(by.timing);
        }
    }

    /** @param keep whether the channel can carry another request; else it is closed */
    void end(boolean keep, long at) {
        exchange = null;
        deadline = 0;
        freeSince = at;
        if (wire != null) {
            wire.release(keep && channel.isActive());
        }
        if (keep) {
            channel.config().setAutoRead(true);
        } else {
            channel.close();
        }
    }

    /** Whether its next use is within the limits of idleness and lifetime. If not, it is closed. */
    boolean isUsable() {
        long now = System.nanoTime();
        if (channel.isActive()
                && (settings.idleLimit == 0 || now - freeSince < settings.idleLimit)
                && (settings.maxLifetime == 0 || now - created < settings.maxLifetime)) {
            return true;
        }
        channel.close();
        return false;
    }

    /** Replaces the time limit; 0 is none. */
    void limit(long nanos) {
        if (nanos == 0) {
            deadline = 0;
            return;
        }
        deadline = System.nanoTime() + nanos;
        if (timer == null || deadline - timerDue < 0) {
            schedule(nanos);
        }
    }

    private void schedule(long nanos) {
        if (timer != null) {
            timer.cancel(false);
        }
        timerDue = deadline;
        timer = channel.eventLoop().schedule(this, nanos, TimeUnit.NANOSECONDS);
    }

    @Override
    public void run() {
        timer = null;
        long left = deadline - System.nanoTime();
        if (deadline != 0 && left > 0) {
            schedule(left);
        } else if (deadline != 0 && exchange != null) {
            deadline = 0;
            exchange.overdue();
        }
    }

    @Override
    protected void channelRead0(ChannelHandlerContext ctx, HttpObject part) {
        if (exchange == null) {
            ctx.close();
        } else {
            exchange.read(part);
        }
    }

    @Override
    public void channelReadComplete(ChannelHandlerContext ctx) {
        if (exchange != null) {
            exchange.readComplete();
        }
    }

    @Override
    public void channelInactive(ChannelHandlerContext ctx) {
        if (timer != null) {
            timer.cancel(false);
        }
        if (exchange != null) {
            exchange.closed();
        }
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
        if (exchange != null) {
            exchange.fail(cause);
        } else {
            ctx.close();
        }
    }

    @Override
    public void channelWritabilityChanged(ChannelHandlerContext ctx) {
        if (exchange != null) {
            exchange.writabilityChanged();
        }
    }

    @Override
    public void userEventTriggered(ChannelHandlerContext ctx, Object event) {
        if (event instanceof SslCloseCompletionEvent) {
            ctx.close();
        }
    }
}
