package io.github.onewrite.reactornetty;

import io.github.onewrite.netty.internal.NettyConnection;
import io.github.onewrite.netty.internal.NettySetup;
import io.netty.channel.Channel;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import reactor.netty.ChannelPipelineConfigurer;
import reactor.netty.ConnectionObserver;

/**
 * Prepares each new channel. Reactor Netty keeps the connections of equal configurers in one pool: those of one customizer
 * are equal.
 *
 * @param key of the customizer
 * @param nodelay counts sockets without TCP_NODELAY; null where the client sets it itself
 */
record ChannelSetup(NettySetup netty, Object key, @Nullable AtomicLong nodelay) implements ChannelPipelineConfigurer {

    @Override
    public void onChannelInit(ConnectionObserver observer, Channel channel, @Nullable SocketAddress remote) {
        String host =
                remote instanceof InetSocketAddress address && address.isUnresolved() ? address.getHostString() : "";
        NettyConnection.attach(channel, netty, host, nodelay, opened -> TimedConnect.connectingCall(opened, key));
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof ChannelSetup same && same.key == key && same.nodelay == nodelay;
    }

    @Override
    public int hashCode() {
        return key.hashCode();
    }
}
