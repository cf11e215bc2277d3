package io.github.onewrite.ahc;

import io.github.onewrite.internal.Setup;
import io.github.onewrite.netty.OnewriteNetty;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelOption;
import io.netty.channel.ChannelOutboundHandlerAdapter;
import io.netty.channel.ChannelPromise;
import io.netty.channel.socket.SocketChannel;
import io.netty.handler.codec.http.HttpClientCodec;
import io.netty.handler.codec.http.HttpRequest;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** Prepares each new channel, after the initializer of the user. */
final class ChannelSetup implements Consumer<Channel> {
    private final Setup setup;
    private final OnewriteNetty onewrite;
    private final @Nullable Consumer<Channel> own;
    private final boolean nodelay;

    ChannelSetup(Setup setup, @Nullable Consumer<Channel> own, boolean nodelay) {
        Setup unjoined = setup.copy();
        unjoined.config(setup.switches().withCoalesceDisabled(true));
        this.setup = unjoined;
        this.onewrite = OnewriteNetty.of(unjoined);
        this.own = own;
        this.nodelay = nodelay;
    }

    @Override
    public void accept(Channel channel) {
        if (own != null) {
            own.accept(channel);
        }
        if (nodelay && channel instanceof SocketChannel && !hasNodelay(channel)) {
            setup.counts().withoutNodelay();
        }
        if (onewrite.wanted() || setup.switches().acknowledgesAtOnce()) {
            onewrite.apply(channel.pipeline());
            channel.pipeline().addLast("onewrite.ahc", new CodecWatch());
        }
    }

    private static boolean hasNodelay(Channel channel) {
        return channel.config().setOption(ChannelOption.TCP_NODELAY, true)
                && Boolean.TRUE.equals(channel.config().getOption(ChannelOption.TCP_NODELAY));
    }

    /** Above the codec, which AsyncHttpClient replaces when a tunnel is open: the handlers go beside the new one. */
    private final class CodecWatch extends ChannelOutboundHandlerAdapter {
        private @Nullable HttpClientCodec codec;

        @Override
        public void write(ChannelHandlerContext ctx, Object message, ChannelPromise promise) {
            if (message instanceof HttpRequest) {
                HttpClientCodec now = ctx.pipeline().get(HttpClientCodec.class);
                if (now != codec) {
                    codec = now;
                    onewrite.apply(ctx.pipeline());
                }
            }
            ctx.write(message, promise);
        }
    }
}
