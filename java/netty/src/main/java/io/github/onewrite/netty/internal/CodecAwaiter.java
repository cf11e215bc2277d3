package io.github.onewrite.netty.internal;

import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;
import io.netty.handler.ssl.SslHandler;
import java.net.SocketAddress;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Waits for the HTTP/1.1 codec of a pipeline, and then adds the handlers beside it. AWS SDK v2 and Armeria add the codec
 * after their customizers run, with ALPN after the handshake. AWS SDK v2 replaces it after a CONNECT.
 *
 * <p>If a client adds the codec and writes a request in the same read, that request is already encoded. It has no record,
 * and its writes leave as in stock.
 */
final class CodecAwaiter extends ChannelDuplexHandler {
    static final String NAME = "onewrite.awaiter";

    /** After this many reads and flushes, more than proxy and TLS handshakes need, the handler is removed: HTTP/2. */
    private static final int CHECKS = 64;

    private final NettyConnection connection;
    private final AtomicLong notJoined;
    private int checks;
    private boolean counted;
    private boolean behindTls;

    /** @param notJoined counts the open channels that have no codec */
    CodecAwaiter(NettyConnection connection, AtomicLong notJoined) {
        this.connection = connection;
        this.notJoined = notJoined;
    }

    /** The handler is removed and added again, above TLS. */
    @Override
    public boolean isSharable() {
        return true;
    }

    @Override
    public void handlerAdded(ChannelHandlerContext ctx) {
        if (ctx.channel().isActive() && !connection.isPlaced()) {
            count(true);
        }
    }

    @Override
    public void connect(ChannelHandlerContext ctx, SocketAddress remote, SocketAddress local, ChannelPromise promise) {
        check(ctx);
        ctx.connect(remote, local, promise);
    }

    @Override
    public void channelActive(ChannelHandlerContext ctx) {
        count(!connection.isPlaced());
        ctx.fireChannelActive();
        check(ctx);
    }

    @Override
    public void channelReadComplete(ChannelHandlerContext ctx) {
        ctx.fireChannelReadComplete();
        check(ctx);
    }

    @Override
    public void flush(ChannelHandlerContext ctx) {
        boolean late = !connection.isPlaced();
        ctx.flush();
        check(ctx);
        if (late && connection.isPlaced()) {
            connection.missed();
        }
    }

    private void check(ChannelHandlerContext ctx) {
        if (ctx.isRemoved()) {
            return;
        }
        boolean moves = !behindTls && !connection.isPlaced();
        ChannelHandlerContext tls = moves ? ctx.pipeline().context(SslHandler.class) : null;
        if (tls != null) {
            // Below TLS it would see encrypted bytes only, and no flush of a codec above.
            behindTls = true;
            ctx.pipeline().remove(this);
            ctx.pipeline().addAfter(tls.name(), NAME, this);
            return;
        }
        if (connection.place()) {
            count(false);
        } else if (++checks == CHECKS) {
            ctx.pipeline().remove(this);
        }
    }

    private void count(boolean without) {
        if (counted != without) {
            counted = without;
            notJoined.addAndGet(without ? 1 : -1);
        }
    }
}
