package io.github.onewrite.okhttp;

import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import javax.net.SocketFactory;

/**
 * Sets TCP_NODELAY on what another factory makes. OkHttp calls the method without arguments, for direct connections
 * and HTTP proxies; TLS is layered on that socket and inherits the option before the handshake. For SOCKS proxies
 * OkHttp makes the socket itself, out of reach of any factory.
 */
final class NodelaySocketFactory extends SocketFactory {
    private final SocketFactory factory;

    NodelaySocketFactory(SocketFactory factory) {
        this.factory = factory;
    }

    @Override
    public Socket createSocket() throws IOException {
        return nodelay(factory.createSocket());
    }

    @Override
    public Socket createSocket(String host, int port) throws IOException {
        return nodelay(factory.createSocket(host, port));
    }

    @Override
    public Socket createSocket(String host, int port, InetAddress localAddress, int localPort) throws IOException {
        return nodelay(factory.createSocket(host, port, localAddress, localPort));
    }

    @Override
    public Socket createSocket(InetAddress host, int port) throws IOException {
        return nodelay(factory.createSocket(host, port));
    }

    @Override
    public Socket createSocket(InetAddress host, int port, InetAddress localAddress, int localPort) throws IOException {
        return nodelay(factory.createSocket(host, port, localAddress, localPort));
    }

    private static Socket nodelay(Socket socket) throws IOException {
        socket.setTcpNoDelay(true);
        return socket;
    }
}
