package io.github.onewrite.okhttp;

import io.github.onewrite.OnewriteConfig;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import javax.net.SocketFactory;

/**
 * Sets TCP_NODELAY on the sockets of another factory. In place of the JDK's default factory it makes sockets whose writes
 * can be joined. OkHttp calls the method without arguments, for direct connections and HTTP proxies; TLS is layered on
 * that socket and inherits the option before the handshake. For SOCKS proxies OkHttp makes the socket without a factory.
 */
final class NodelaySocketFactory extends SocketFactory {
    private final SocketFactory factory;
    private final boolean nodelay;

    /** Bytes to join, or 0. */
    private final int joined;

    NodelaySocketFactory(SocketFactory factory, OnewriteConfig config) {
        this.factory = factory;
        this.nodelay = config.guardsNodelay();
        // A user's factory may return sockets of any class, so these are not replaced.
        this.joined = config.coalesces() && joins(factory) ? config.coalesceMax() : 0;
    }

    /** Whether the sockets of a factory can be replaced: those of the JDK's. */
    static boolean joins(SocketFactory factory) {
        return factory == SocketFactory.getDefault();
    }

    @Override
    public Socket createSocket() throws IOException {
        return guarded(joined > 0 ? new JoiningSocket(joined) : factory.createSocket());
    }

    @Override
    public Socket createSocket(String host, int port) throws IOException {
        return guarded(factory.createSocket(host, port));
    }

    @Override
    public Socket createSocket(String host, int port, InetAddress localAddress, int localPort) throws IOException {
        return guarded(factory.createSocket(host, port, localAddress, localPort));
    }

    @Override
    public Socket createSocket(InetAddress host, int port) throws IOException {
        return guarded(factory.createSocket(host, port));
    }

    @Override
    public Socket createSocket(InetAddress host, int port, InetAddress localAddress, int localPort) throws IOException {
        return guarded(factory.createSocket(host, port, localAddress, localPort));
    }

    private Socket guarded(Socket socket) throws IOException {
        if (nodelay) {
            socket.setTcpNoDelay(true);
        }
        return socket;
    }
}
