package io.github.onewrite.okhttp;

import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.net.SocketException;
import javax.net.SocketFactory;

/**
 * Sets TCP_NODELAY on the JDK's own sockets that another factory makes. OkHttp calls the method without arguments, for direct
 * connections and HTTP proxies. TLS is layered on that socket, so the option is on before the handshake. A subclass of Socket
 * may be no TCP socket: {@link Connections} sets the option on it once it is connected.
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

    private static Socket nodelay(Socket socket) {
        if (socket != null && socket.getClass() == Socket.class) {
            try {
                socket.setTcpNoDelay(true);
            } catch (SocketException e) {
                // A SocketImplFactory of the program may refuse the option.
            }
        }
        return socket;
    }
}
