package io.github.onewrite.okhttp;

import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.SSLSocketFactory;

/**
 * Makes TLS sockets whose plaintext can be joined, so that head and body are one record. OkHttp calls the method that
 * layers TLS on a socket. It tests sockets of other providers (Conscrypt, BouncyCastle) by their class, so they stay as
 * they are.
 */
final class JoiningSslSocketFactory extends SSLSocketFactory {
    /** Plaintext in one TLS 1.3 record of the JDK. RFC 8446, 5.1 allows 16384 bytes; the JDK leaves room for the tag. */
    private static final int RECORD = 16367;

    private final SSLSocketFactory factory;
    private final int size;

    JoiningSslSocketFactory(SSLSocketFactory factory, int coalesceMax) {
        this.factory = factory;
        this.size = Math.min(coalesceMax, RECORD);
    }

    @Override
    public Socket createSocket(Socket socket, String host, int port, boolean autoClose) throws IOException {
        Socket layered = factory.createSocket(socket, host, port, autoClose);
        boolean ofJdk = layered.getClass().getName().startsWith("sun.security.ssl.");
        return ofJdk && layered instanceof SSLSocket tls ? new JoiningSslSocket(tls, size) : layered;
    }

    @Override
    public String[] getDefaultCipherSuites() {
        return factory.getDefaultCipherSuites();
    }

    @Override
    public String[] getSupportedCipherSuites() {
        return factory.getSupportedCipherSuites();
    }

    @Override
    public Socket createSocket() throws IOException {
        return factory.createSocket();
    }

    @Override
    public Socket createSocket(String host, int port) throws IOException {
        return factory.createSocket(host, port);
    }

    @Override
    public Socket createSocket(String host, int port, InetAddress localAddress, int localPort) throws IOException {
        return factory.createSocket(host, port, localAddress, localPort);
    }

    @Override
    public Socket createSocket(InetAddress host, int port) throws IOException {
        return factory.createSocket(host, port);
    }

    @Override
    public Socket createSocket(InetAddress host, int port, InetAddress localAddress, int localPort) throws IOException {
        return factory.createSocket(host, port, localAddress, localPort);
    }

    /** OkHttp shares connections between clients whose factories are equal. */
    @Override
    public boolean equals(Object other) {
        return other instanceof JoiningSslSocketFactory joining
                && joining.factory.equals(factory)
                && joining.size == size;
    }

    @Override
    public int hashCode() {
        return factory.hashCode();
    }
}
