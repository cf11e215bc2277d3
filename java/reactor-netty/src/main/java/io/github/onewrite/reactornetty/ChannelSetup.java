package io.github.onewrite.reactornetty;

import io.github.onewrite.internal.SocketCounts;
import io.github.onewrite.netty.NettyConnection;
import io.netty.channel.Channel;
import java.net.SocketAddress;
import org.jspecify.annotations.Nullable;
import reactor.netty.ChannelPipelineConfigurer;
import reactor.netty.ConnectionObserver;
import reactor.netty.NettyPipeline;

/**
 * Prepares each new channel. A record: Reactor Netty keeps the connections of equal configurers in one pool.
 *
 * @param nodelay counts the sockets without TCP_NODELAY, which is set; null where the client sets it itself
 */
record ChannelSetup(@Nullable SocketCounts nodelay) implements ChannelPipelineConfigurer {

    @Override
    public void onChannelInit(ConnectionObserver observer, Channel channel, @Nullable SocketAddress remote) {
        NettyConnection connection = NettyConnection.attach(
                channel, remote, nodelay, TimedConnect::connectingCall, NettyConnection.Ends.WITH_CHANNEL);
        if (channel.pipeline().get(NettyPipeline.ProxyHandler) != null) {
            connection.tunnel(NettyPipeline.ProxyHandler);
        }
    }
}
