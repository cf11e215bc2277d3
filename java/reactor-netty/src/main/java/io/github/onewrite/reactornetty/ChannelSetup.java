package io.github.onewrite.reactornetty;

import io.github.onewrite.internal.SocketCounts;
import io.github.onewrite.netty.internal.NettyConnection;
import io.github.onewrite.netty.internal.NettySetup;
import io.netty.channel.Channel;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import org.jspecify.annotations.Nullable;
import reactor.netty.ChannelPipelineConfigurer;
import reactor.netty.ConnectionObserver;

/**
 * Prepares each new channel. Reactor Netty keeps the connections of equal configurers in one pool: those of one customizer
 * are equal.
 *
 * @param counts of the customizer
 * @param nodelay whether TCP_NODELAY is set; else the client sets it itself
 */
record ChannelSetup(NettySetup netty, SocketCounts counts, boolean nodelay) implements ChannelPipelineConfigurer {

    @Override
    public void onChannelInit(ConnectionObserver observer, Channel channel, @Nullable SocketAddress remote) {
        String host =
                remote instanceof InetSocketAddress address && address.isUnresolved() ? address.getHostString() : "";
        NettyConnection.attach(
                channel, netty, host, nodelay ? counts : null, opened -> TimedConnect.connectingCall(opened, counts));
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof ChannelSetup same && same.counts == counts && same.nodelay == nodelay;
    }

    @Override
    public int hashCode() {
        return counts.hashCode();
    }
}
