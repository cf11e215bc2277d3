package io.github.onewrite.ahc;

import io.github.onewrite.internal.Setup;
import io.github.onewrite.netty.internal.NettySetup;
import io.netty.channel.Channel;
import io.netty.channel.ChannelOption;
import io.netty.channel.socket.SocketChannel;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** Prepares each new channel, after the initializer of the user. */
final class ChannelSetup implements Consumer<Channel> {
    private final Setup setup;
    private final NettySetup onewrite;
    private final @Nullable Consumer<Channel> own;
    private final boolean nodelay;

    ChannelSetup(Setup setup, @Nullable Consumer<Channel> own, boolean nodelay) {
        Setup unjoined = setup.copy();
        unjoined.config(setup.switches().withCoalesceDisabled(true));
        this.setup = unjoined;
        this.onewrite = new NettySetup(unjoined, false, true);
        this.own = own;
        this.nodelay = nodelay;
    }

    @Override
    public void accept(Channel channel) {
        if (own != null) {
            own.accept(channel);
        }
        if (nodelay && channel instanceof SocketChannel && !hasNodelay(channel)) {
            setup.withoutNodelay.incrementAndGet();
        }
        if (onewrite.wanted() || setup.switches().acknowledgesAtOnce()) {
            onewrite.apply(channel.pipeline());
        }
    }

    private static boolean hasNodelay(Channel channel) {
        return channel.config().setOption(ChannelOption.TCP_NODELAY, true)
                && Boolean.TRUE.equals(channel.config().getOption(ChannelOption.TCP_NODELAY));
    }
}
