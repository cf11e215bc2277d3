package io.github.onewrite.netty;

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
 */
final class CodecAwaiter extends ChannelDuplexHandler {
    static final String NAME = "onewrite.awaiter";

    /** Reads and writes before this gives up: more than proxy and TLS handshakes need. HTTP/2 has no such codec. */
    private static final int CHECKS = 64;

    private final NettyConnection connection;
    private final OnewriteNetty onewrite;
    private final SocketCounts counts;
    private int checks;
    private boolean counted;
    private boolean behindTls;
    private boolean late;
    private boolean planned;

    /** @param counts has the channels that are open without a codec, until they have one */
    CodecAwaiter(NettyConnection connection, OnewriteNetty onewrite, SocketCounts counts) {
        this.connection = connection;
        this.onewrite = onewrite;
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

    /** After ALPN, the codec and the first request can come in one read: then this message is the encoded head. */
    @Override
    public void write(ChannelHandlerContext ctx, Object message, ChannelPromise promise) {
        if (!connection.isPlaced() && connection.place(onewrite, false)) {
            late = true;
            if (onewrite.wanted() && ctx.channel().isActive()) {
                ctx.write(message, connection.writeLate(message, promise));
                return;
            }
        }
        ctx.write(message, promise);
    }

    /** The head of such a request waits for the end of the turn, for the body that follows. */
    @Override
    public void flush(ChannelHandlerContext ctx) {
        if (!late || !onewrite.switchesNow().coalesces()) {
            ctx.flush();
            check(ctx);
        } else if (!planned) {
            planned = true;
            ctx.channel().eventLoop().execute(() -> {
                planned = false;
                late = false;
                ctx.flush();
                check(ctx);
            });
        }
    }

    @Override
    public void close(ChannelHandlerContext ctx, ChannelPromise promise) {
        if (planned) {
            ctx.flush();
        }
        ctx.close(promise);
    }

    private void check(ChannelHandlerContext ctx) {
        if (planned || ctx.isRemoved()) {
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
        if (connection.place(onewrite, false)) {
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
