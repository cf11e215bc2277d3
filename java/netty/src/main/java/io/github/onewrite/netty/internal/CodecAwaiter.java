package io.github.onewrite.netty.internal;

import io.github.onewrite.internal.SocketCounts;
import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;
import io.netty.handler.ssl.SslHandler;
import java.net.SocketAddress;

/**
 * First in a pipeline that has no HTTP/1.1 codec yet, or behind TLS: AWS SDK v2 and Armeria add the codec after their
 * customizers ran, and with ALPN after the handshake. AWS SDK v2 replaces it after a CONNECT. Puts the handlers beside the
 * codec, and removes itself when none comes.
 *
 * <p>Where the codec and the first request come in one read, that request is encoded before the handlers stand there: it
 * has no record, and its writes leave as in stock.
 */
final class CodecAwaiter extends ChannelDuplexHandler {
    static final String NAME = "onewrite.awaiter";

    /** Reads and writes before this gives up: more than proxy and TLS handshakes need. HTTP/2 has no such codec. */
    private static final int CHECKS = 64;

    private final NettyConnection connection;
    private final SocketCounts counts;
    private int checks;
    private boolean counted;
    private boolean behindTls;

    /** @param counts has the channels that are open without a codec, until they have one */
    CodecAwaiter(NettyConnection connection, SocketCounts counts) {
        this.connection = connection;
        this.counts = counts;
    }

    /** It is moved behind TLS. */
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
            // To see what a codec behind it writes.
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
            counts.notJoined(without ? 1 : -1);
        }
    }
}
