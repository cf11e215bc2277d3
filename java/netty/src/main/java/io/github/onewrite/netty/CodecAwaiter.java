package io.github.onewrite.netty;

import io.github.onewrite.OnewriteConfig;
import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;
import java.net.SocketAddress;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * First in a pipeline that has no HTTP/1.1 codec yet: AWS SDK v2 and Armeria add it after their customizers ran, and with
 * ALPN after the handshake. Puts the handlers beside the codec and removes itself, also when no codec comes.
 */
final class CodecAwaiter extends ChannelDuplexHandler {
    static final String NAME = "onewrite.awaiter";

    /** Reads and writes before this gives up: more than proxy and TLS handshakes need. HTTP/2 has no such codec. */
    private static final int CHECKS = 64;

    private final NettyConnection connection;
    private final OnewriteConfig config;
    private final AtomicInteger unreached;
    private int checks;
    private boolean counted;
    private boolean late;
    private boolean planned;

    /** @param unreached counts the channels that were open without a codec, until they have one */
    CodecAwaiter(NettyConnection connection, OnewriteConfig config, AtomicInteger unreached) {
        this.connection = connection;
        this.config = config;
        this.unreached = unreached;
    }

    @Override
    public void handlerAdded(ChannelHandlerContext ctx) {
        if (ctx.channel().isActive()) {
            count();
        }
    }

    @Override
    public void connect(ChannelHandlerContext ctx, SocketAddress remote, SocketAddress local, ChannelPromise promise) {
        check(ctx);
        ctx.connect(remote, local, promise);
    }

    @Override
    public void channelActive(ChannelHandlerContext ctx) {
        count();
        ctx.fireChannelActive();
        check(ctx);
    }

    @Override
    public void channelReadComplete(ChannelHandlerContext ctx) {
        ctx.fireChannelReadComplete();
        check(ctx);
    }

    /** After ALPN, the codec and the first request can come in one read. */
    @Override
    public void write(ChannelHandlerContext ctx, Object message, ChannelPromise promise) {
        ctx.write(message, promise);
        if (!late && connection.place(config, false)) {
            late = true;
            connection.serve(null);
        }
    }

    /** The head of such a request waits for the end of the turn, for the body that follows. */
    @Override
    public void flush(ChannelHandlerContext ctx) {
        if (!late || !config.coalesces()) {
            ctx.flush();
            check(ctx);
        } else if (!planned) {
            planned = true;
            ctx.channel().eventLoop().execute(() -> {
                planned = false;
                ctx.flush();
                check(ctx);
            });
        }
    }

    private void check(ChannelHandlerContext ctx) {
        if (planned || ctx.isRemoved()) {
            return;
        }
        boolean placed = connection.place(config, false);
        if (placed && counted) {
            unreached.decrementAndGet();
        }
        if (placed || ++checks == CHECKS) {
            ctx.pipeline().remove(this);
        }
    }

    private void count() {
        if (!counted) {
            counted = true;
            unreached.incrementAndGet();
        }
    }
}
