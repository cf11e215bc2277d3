package io.github.onewrite.bench.jmh;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufHolder;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.channel.socket.nio.NioSocketChannel;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.nio.charset.StandardCharsets;

/**
 * A socket without a kernel: what is written is counted and dropped, and each write is answered on the next turn of
 * the event loop. What a call costs over it is the client's own work.
 */
final class NullChannel extends NioSocketChannel {
    private static final ByteBuf ANSWER = Unpooled.unreleasableBuffer(Unpooled.copiedBuffer(
            "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nok", StandardCharsets.US_ASCII));

    /** When the last request was handed over; read on the event loop that wrote it. */
    long writtenNanos;

    /** Bytes of the last flush. */
    int writtenBytes;

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
        // There is nothing to read but the answers below.
    }

    @Override
    protected void doWrite(ChannelOutboundBuffer buffers) {
        writtenNanos = System.nanoTime();
        writtenBytes = 0;
        for (Object message; (message = buffers.current()) != null; ) {
            ByteBuf bytes = message instanceof ByteBufHolder holder ? holder.content() : (ByteBuf) message;
            writtenBytes += bytes.readableBytes();
            buffers.remove();
        }
        eventLoop().execute(this::answer);
    }

    private void answer() {
        pipeline().fireChannelRead(ANSWER.duplicate());
        pipeline().fireChannelReadComplete();
    }
}
