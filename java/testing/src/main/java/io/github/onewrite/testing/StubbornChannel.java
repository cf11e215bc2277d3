package io.github.onewrite.testing;

import io.netty.channel.ChannelOption;
import io.netty.channel.socket.DefaultSocketChannelConfig;
import io.netty.channel.socket.SocketChannelConfig;
import io.netty.channel.socket.nio.NioSocketChannel;

/** A channel that ignores TCP_NODELAY. */
public final class StubbornChannel extends NioSocketChannel {
    @Override
    public SocketChannelConfig config() {
        return new DefaultSocketChannelConfig(this, javaChannel().socket()) {
            @Override
            public boolean isTcpNoDelay() {
                return false;
            }

            @Override
            public <T> T getOption(ChannelOption<T> option) {
                @SuppressWarnings("unchecked")
                T off = (T) (Object) false;
                return ChannelOption.TCP_NODELAY.equals(option) ? off : super.getOption(option);
            }
        };
    }
}
