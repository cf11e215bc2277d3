package io.github.onewrite.netty;

import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelOutboundHandlerAdapter;
import io.netty.channel.ChannelPromise;
import java.net.SocketAddress;

/**
 * Next to the socket: reads TCP_NODELAY back before the connection is made, so that a socket without it is refused before
 * a byte is sent.
 */
final class NodelayHandler extends ChannelOutboundHandlerAdapter {
    static final String NAME = "onewrite.nodelay";

    @Override
    public void connect(ChannelHandlerContext ctx, SocketAddress remote, SocketAddress local, ChannelPromise promise) {
        if (Nodelay.ensured(ctx.channel())) {
            ctx.connect(remote, local, promise);
        } else {
            promise.tryFailure(Nodelay.refusal(remote));
            ctx.close();
        }
    }
}
