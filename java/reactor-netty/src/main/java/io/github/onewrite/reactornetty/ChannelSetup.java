package io.github.onewrite.reactornetty;

import io.github.onewrite.netty.internal.NettySetup;
import io.netty.channel.Channel;
import java.net.SocketAddress;
import org.jspecify.annotations.Nullable;
import reactor.netty.ChannelPipelineConfigurer;
import reactor.netty.ConnectionObserver;

/**
 * Prepares each new channel. A value: Reactor Netty has a pool for each hash of a client's configuration, this among it.
 *
 * @param netty one for each customizer
 */
record ChannelSetup(NettySetup netty) implements ChannelPipelineConfigurer {
    @Override
    public void onChannelInit(ConnectionObserver observer, Channel channel, @Nullable SocketAddress remote) {
        netty.apply(channel.pipeline());
        Call call = Call.of(observer.currentContext());
        if (call != null) {
            call.opens(channel);
        }
    }
}
