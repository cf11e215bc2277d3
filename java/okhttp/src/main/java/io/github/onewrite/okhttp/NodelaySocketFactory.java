package io.github.onewrite.okhttp;

import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.net.SocketAddress;
import java.util.concurrent.atomic.AtomicLong;
import javax.net.SocketFactory;

/**
 * Sets TCP_NODELAY on the sockets that another factory makes. OkHttp calls the method without arguments, for direct
 * connections and HTTP proxies; it makes the sockets of SOCKS proxies itself. TLS is layered on that socket, so the option is
 * on before the handshake.
 */
final class NodelaySocketFactory extends SocketFactory {
    private final SocketFactory factory;
    private final AtomicLong without;

    /** @param without counts the sockets that do not have the option after that */
    NodelaySocketFactory(SocketFactory factory, AtomicLong without) {
        this.factory = factory;
        this.without = without;
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

    private Socket nodelay(Socket socket) {
        if (socket != null && !hasNodelay(socket)) {
            without.incrementAndGet();
        }
        return socket;
    }

    private static boolean hasNodelay(Socket socket) {
        try {
            if (!isTcp(socket.getClass())) {
                return false;
            }
            socket.setTcpNoDelay(true);
            return socket.getTcpNoDelay();
        } catch (IOException | RuntimeException e) {
            return false; // It refuses the option.
        }
    }

    /**
     * A socket that connects by its own means speaks TCP if it takes TCP's options, as one that wraps another does. On a Unix
     * socket, the options that it inherits from Socket would open a TCP descriptor.
     */
    private static boolean isTcp(Class<? extends Socket> type) {
        try {
            return isOfJdk(type, "connect", SocketAddress.class, int.class)
                    || !isOfJdk(type, "setTcpNoDelay", boolean.class);
        } catch (NoSuchMethodException e) {
            throw new AssertionError(e);
        }
    }

    private static boolean isOfJdk(Class<?> type, String method, Class<?>... arguments) throws NoSuchMethodException {
        return type.getMethod(method, arguments).getDeclaringClass().getModule() == Socket.class.getModule();
    }
}
