package io.github.onewrite.okhttp;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.github.onewrite.OnewriteConfig;
import io.github.onewrite.testing.Identity;
import io.github.onewrite.testing.TestServer;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.Socket;
import java.net.SocketAddress;
import java.net.SocketException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Supplier;
import javax.net.SocketFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManager;
import javax.net.ssl.X509TrustManager;
import okhttp3.Call;
import okhttp3.Connection;
import okhttp3.ConnectionPool;
import okhttp3.EventListener;
import okhttp3.Handshake;
import okhttp3.OkHttpClient;
import okhttp3.Request;
import okhttp3.RequestBody;
import okhttp3.Response;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** TCP_NODELAY, read back from the sockets: on where TCP is spoken, and nowhere else. */
class NodelayTest {
    /** Notes TCP_NODELAY of each connection that a call gets. */
    private static final class Sockets extends EventListener {
        private final List<Boolean> nodelay = new CopyOnWriteArrayList<>();

        @Override
        public void connectionAcquired(Call call, Connection connection) {
            try {
                nodelay.add(connection.socket().getTcpNoDelay());
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }

    /** A user's factory. */
    private static final class Factory extends SocketFactory {
        private final Supplier<Socket> made;

        Factory(Supplier<Socket> made) {
            this.made = made;
        }

        @Override
        public Socket createSocket() {
            return made.get();
        }

        @Override
        public Socket createSocket(String host, int port) {
            throw new UnsupportedOperationException();
        }

        @Override
        public Socket createSocket(InetAddress host, int port) {
            throw new UnsupportedOperationException();
        }

        @Override
        public Socket createSocket(String host, int port, InetAddress local, int localPort) {
            throw new UnsupportedOperationException();
        }

        @Override
        public Socket createSocket(InetAddress host, int port, InetAddress local, int localPort) {
            throw new UnsupportedOperationException();
        }
    }

    private final Sockets sockets = new Sockets();

    private static OkHttpClient applied(OkHttpClient.Builder builder) {
        return OnewriteOkHttp.create().apply(builder).build();
    }

    private static void post(OkHttpClient client, String url) throws IOException {
        Request request = new Request.Builder()
                .url(url)
                .post(RequestBody.create(new byte[200], null))
                .build();
        try (Response response = client.newCall(request).execute()) {
            assertEquals(200, response.code());
        }
    }

    /** The class of the sockets that a user's factory makes is kept. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void socketsOfAUsersFactory(boolean subclass) throws Exception {
        Factory own = new Factory(() -> subclass ? new Socket() {} : new Socket());
        try (TestServer server = TestServer.answering()) {
            OkHttpClient.Builder builder =
                    new OkHttpClient.Builder().eventListener(sockets).socketFactory(own);
            OkHttpClient stock = builder.build();
            post(stock, server.url());
            post(applied(stock.newBuilder().connectionPool(new ConnectionPool())), server.url());
            assertEquals(List.of(false, true), sockets.nodelay, "the first is the control");
        }
    }

    @Test
    void isOnBeforeTheTlsHandshake() throws Exception {
        TrustManager[] trust = Identity.localhost().trust();
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(null, trust, null);
        List<Socket> made = new CopyOnWriteArrayList<>();
        List<Boolean> before = new CopyOnWriteArrayList<>();
        EventListener watching = new EventListener() {
            @Override
            public void secureConnectStart(Call call) {
                try {
                    before.add(made.get(0).getTcpNoDelay());
                } catch (IOException e) {
                    throw new UncheckedIOException(e);
                }
            }

            @Override
            public void secureConnectEnd(Call call, Handshake handshake) {
                before.add(true);
            }
        };
        try (TestServer server = TestServer.answering(Identity.listener())) {
            OkHttpClient client = applied(new OkHttpClient.Builder()
                    .sslSocketFactory(context.getSocketFactory(), (X509TrustManager) trust[0])
                    .eventListener(watching)
                    .socketFactory(new Factory(() -> {
                        made.add(new Socket());
                        return made.get(0);
                    })));
            post(client, "https://localhost:" + server.port() + "/");
            assertEquals(List.of(true, true), before);
        }
    }

    /** As a wrapper that counts or throttles has it. */
    private static final class WrappingSocket extends Socket {
        private final Socket real = new Socket();
        private final boolean forwards;

        WrappingSocket(boolean forwards) {
            this.forwards = forwards;
        }

        @Override
        public void connect(SocketAddress to, int timeout) throws IOException {
            real.connect(to, timeout);
        }

        @Override
        public InputStream getInputStream() throws IOException {
            return real.getInputStream();
        }

        @Override
        public OutputStream getOutputStream() throws IOException {
            return real.getOutputStream();
        }

        @Override
        public boolean isConnected() {
            return real.isConnected();
        }

        @Override
        public boolean isClosed() {
            return real.isClosed();
        }

        @Override
        public void close() throws IOException {
            real.close();
        }

        @Override
        public void setSoTimeout(int millis) throws SocketException {
            real.setSoTimeout(millis);
        }

        @Override
        public int getSoTimeout() throws SocketException {
            return real.getSoTimeout();
        }

        @Override
        public void setTcpNoDelay(boolean on) throws SocketException {
            if (forwards) {
                real.setTcpNoDelay(on);
            }
        }

        @Override
        public boolean getTcpNoDelay() throws SocketException {
            return real.getTcpNoDelay();
        }
    }

    /** The status counts what does not take the option. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aSocketThatWrapsAnother(boolean forwards) throws Exception {
        OnewriteOkHttp onewrite = OnewriteOkHttp.create();
        try (TestServer server = TestServer.answering()) {
            post(
                    onewrite.apply(new OkHttpClient.Builder()
                                    .eventListener(sockets)
                                    .socketFactory(new Factory(() -> new WrappingSocket(forwards))))
                            .build(),
                    server.url());
        }
        assertEquals(List.of(forwards), sockets.nodelay);
        assertEquals(
                forwards ? "on" : "on; connections without it so far: 1",
                onewrite.status().patches().get("nodelay"));
    }

    @Test
    void observeLeavesItOff() throws Exception {
        try (TestServer server = TestServer.answering()) {
            OkHttpClient client = OnewriteOkHttp.create()
                    .config(OnewriteConfig.defaults().withObserve(true))
                    .apply(new OkHttpClient.Builder().eventListener(sockets))
                    .build();
            post(client, server.url());
            assertEquals(List.of(false), sockets.nodelay);
        }
    }

    /** As the samples of OkHttp and the libraries for Docker have it. */
    private static final class UnixSocket extends Socket {
        private final Path path;
        private SocketChannel channel;

        UnixSocket(Path path) {
            this.path = path;
        }

        @Override
        public void connect(SocketAddress to, int timeout) throws IOException {
            channel = SocketChannel.open(UnixDomainSocketAddress.of(path));
        }

        @Override
        public InputStream getInputStream() {
            return Channels.newInputStream(channel);
        }

        @Override
        public OutputStream getOutputStream() {
            return Channels.newOutputStream(channel);
        }

        @Override
        public void close() throws IOException {
            if (channel != null) {
                channel.close();
            }
        }

        @Override
        public boolean isClosed() {
            return channel != null && !channel.isOpen();
        }

        @Override
        public void setSoTimeout(int timeout) {}

        @Override
        public int getSoTimeout() {
            return 0;
        }
    }

    /** TCP_NODELAY would open a TCP descriptor. */
    @Test
    @EnabledOnOs(OS.LINUX)
    void aUnixSocketIsLeftAlone(@TempDir Path dir) throws Exception {
        Path path = dir.resolve("s");
        byte[] answer =
                "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n".getBytes(StandardCharsets.US_ASCII);
        try (ServerSocketChannel server =
                ServerSocketChannel.open(StandardProtocolFamily.UNIX).bind(UnixDomainSocketAddress.of(path))) {
            Thread answering = new Thread(() -> {
                while (true) {
                    try (SocketChannel connection = server.accept()) {
                        connection.read(ByteBuffer.allocate(1000));
                        connection.write(ByteBuffer.wrap(answer));
                    } catch (ClosedChannelException e) {
                        return;
                    } catch (IOException e) {
                        throw new UncheckedIOException(e);
                    }
                }
            });
            answering.setDaemon(true);
            answering.start();
            OkHttpClient client =
                    applied(new OkHttpClient.Builder().socketFactory(new Factory(() -> new UnixSocket(path))));
            post(client, "http://127.0.0.1/");
            int before = descriptors();
            for (int i = 0; i < 30; i++) {
                post(client, "http://127.0.0.1/");
            }
            int more = descriptors() - before;
            assertEquals(0, more / 15, more + " descriptors left of 30 calls");
        }
    }

    private static int descriptors() {
        String[] open = new File("/proc/self/fd").list();
        return open == null ? 0 : open.length;
    }
}
