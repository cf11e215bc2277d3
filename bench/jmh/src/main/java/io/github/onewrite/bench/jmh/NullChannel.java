package io.github.onewrite.bench.jmh;

import io.netty.channel.ChannelOutboundBuffer;
import io.netty.channel.socket.nio.NioSocketChannel;
import java.net.InetSocketAddress;
import java.net.SocketAddress;

/**
 * A socket that makes no system call: it drops what is written, and answers each flush in the next task of the event
 * loop. So a call costs the client's own work and nothing else.
 */
final class NullChannel extends NioSocketChannel {
    private boolean connected;

    @Override
    public boolean isActive() {
        return connected && isOpen();
    }

    @Override
    protected SocketAddress localAddress0() {
        return new InetSocketAddress("127.0.0.1", 1);
    }

    @Override
    protected SocketAddress remoteAddress0() {
        return new InetSocketAddress("127.0.0.1", 2);
    }

    @Override
    protected boolean doConnect(SocketAddress remote, SocketAddress local) {
        connected = true;
        return true;
    }

    @Override
    protected void doBeginRead() {
        // Nothing arrives but the answers below.
    }

    @Override
    protected void doWrite(ChannelOutboundBuffer buffers) {
        while (buffers.current() != null) {
            buffers.remove();
        }
        eventLoop().execute(this::answer);
    }

    private void answer() {
        pipeline().fireChannelRead(Origin.ANSWER.duplicate());
        pipeline().fireChannelReadComplete();
    }
}
