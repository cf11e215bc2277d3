package io.github.onewrite.client;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.github.onewrite.ErrorKind;
import io.github.onewrite.OnewriteException;
import io.github.onewrite.Timing;
import io.github.onewrite.testing.Identity;
import io.github.onewrite.testing.TestServer;
import io.netty.handler.ssl.OpenSsl;
import io.netty.handler.ssl.SslContextBuilder;
import io.netty.handler.ssl.SslProvider;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CopyOnWriteArrayList;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLServerSocket;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** TLS and proxies. */
class SecureTest {
    @TempDir
    static Path dir;

    private static Identity identity;
    private static Path pem;

    @BeforeAll
    static void certificate() throws Exception {
        identity = Identity.localhost();
        pem = identity.chainPem();
    }

    private static TestServer tlsServer() throws Exception {
        return tlsServer(identity.serverContext(null), false);
    }

    private static TestServer tlsServer(SSLContext context, boolean asks) throws Exception {
        SSLServerSocket listener = (SSLServerSocket)
                context.getServerSocketFactory().createServerSocket(0, 50, InetAddress.getByName("localhost"));
        listener.setNeedClientAuth(asks);
        return TestServer.answering(listener);
    }

    private static Request.Builder post(TestServer server, String host) {
        return Request.post("https://" + host + ":" + server.port() + "/", Body.of("x".repeat(200)));
    }

    @Test
    void aTrustedServer() throws Exception {
        List<Timing> timings = new CopyOnWriteArrayList<>();
        try (TestServer server = tlsServer();
                OnewriteClient client = OnewriteClient.builder()
                        .trust(pem)
                        .onTiming(timings::add)
                        .build()) {
            assertEquals(200, client.execute(post(server, "localhost")).status());
            assertEquals(200, client.execute(post(server, "localhost")).status());
            assertTrue(timings.get(0).tlsNanos().isPresent());
            assertTrue(timings.get(1).tlsNanos().isEmpty());
            assertEquals(1, server.connections());
        }
    }

    @Test
    void aServerThatIsNotTrustedOrNotTheOneNamed() throws Exception {
        try (TestServer server = tlsServer();
                OnewriteClient strict = OnewriteClient.create();
                OnewriteClient client = OnewriteClient.builder().trust(pem).build();
                // The host name is verified although this context verifies the chain alone.
                OnewriteClient lax = OnewriteClient.builder()
                        .sslContext(SslContextBuilder.forClient()
                                .trustManager(pem.toFile())
                                .endpointIdentificationAlgorithm(null)
                                .build())
                        .build()) {
            assertEquals(
                    ErrorKind.TLS, failure(strict, post(server, "localhost")).kind());
            assertEquals(
                    ErrorKind.TLS, failure(client, post(server, "127.0.0.1")).kind());
            assertEquals(ErrorKind.TLS, failure(lax, post(server, "127.0.0.1")).kind());
            assertEquals(0, server.requests().size());
        }
    }

    private static OnewriteException failure(OnewriteClient client, Request.Builder request) {
        return assertThrows(OnewriteException.class, () -> client.execute(request));
    }

    static List<Arguments> transportsAndEngines() {
        List<Arguments> all = new ArrayList<>();
        for (String transport : Transports.ALL) {
            for (SslProvider engine : new SslProvider[] {SslProvider.JDK, SslProvider.OPENSSL}) {
                all.add(Arguments.of(transport, engine));
            }
        }
        return all;
    }

    /** A relay between client and server counts the application-data records: 20 POSTs, 20 records. */
    @ParameterizedTest(name = "{0}, {1}")
    @MethodSource("transportsAndEngines")
    void aSmallPostIsOneRecord(String transport, SslProvider engine) throws Exception {
        assumeTrue(
                engine == SslProvider.JDK || OpenSsl.isAvailable(),
                () -> "no tcnative: " + OpenSsl.unavailabilityCause());
        OnewriteClientBuilder builder = OnewriteClient.builder()
                .sslContext(SslContextBuilder.forClient()
                        .sslProvider(engine)
                        .trustManager(pem.toFile())
                        .build());
        try (TestServer server = tlsServer();
                RecordCounter relay = new RecordCounter(server.port());
                Transports.Standing standing = Transports.build(transport, builder)) {
            String url = "https://localhost:" + relay.port() + "/";
            OnewriteClient client = standing.client();
            Request request = Request.post(url, Body.of("x".repeat(200))).build();
            client.execute(request);
            int before = relay.records();
            for (int i = 0; i < 20; i++) {
                client.execute(request);
            }
            assertEquals(20, relay.records() - before);
            client.execute(Request.post(url, Body.ofPublisher(Publishers.of("a", "b"))));
            assertEquals(21, relay.records() - before);
            assertEquals(1, client.stats().opened());
        }
    }

    /** Over TLS a file is read block by block, as fast as the socket takes it. */
    @Test
    void aFileArrivesWhole() throws Exception {
        try (TestServer server = tlsServer();
                OnewriteClient client = OnewriteClient.builder().trust(pem).build()) {
            for (int size : new int[] {0, 200, 16_300, 70_000, 1_048_577, 5_000_000}) {
                byte[] body = new byte[size];
                new Random(size).nextBytes(body);
                Path file = Files.write(dir.resolve("body"), body);
                assertEquals(
                        200,
                        client.execute(Request.post("https://localhost:" + server.port() + "/", Body.ofFile(file)))
                                .status());
                assertArrayEquals(body, server.requests().get(0).body());
                server.requests().clear();
            }
            assertEquals(1, server.connections());
        }
    }

    /** The server asks for a client certificate. */
    @Test
    void aClientCertificateIsShownWhereOneIsSet() throws Exception {
        Identity own = Identity.make(dir, "client", "CN=a client");
        try (TestServer server = tlsServer(identity.serverContext(own), true);
                OnewriteClient known = OnewriteClient.builder()
                        .trust(pem)
                        .key(own.chainPem(), own.keyPem())
                        .build();
                OnewriteClient unknown = OnewriteClient.builder().trust(pem).build()) {
            assertEquals(200, known.execute(post(server, "localhost")).status());
            assertEquals(1, server.requests().size());
            // With TLS 1.3 the client's handshake is over before the server refuses it. The alert comes instead of a
            // response, or is lost in a reset.
            ErrorKind kind = failure(unknown, post(server, "localhost")).kind();
            assertTrue(List.of(ErrorKind.TLS, ErrorKind.CLOSED, ErrorKind.RESET).contains(kind), kind::name);
            assertEquals(1, server.requests().size());
        }
    }

    /** Trust and keys that cannot be read are refused when the client is built. */
    @Test
    void materialThatIsNoneIsRefused() throws Exception {
        Path nonsense = Files.writeString(dir.resolve("nonsense.pem"), "no certificate");
        assertThrows(
                IllegalStateException.class,
                () -> OnewriteClient.builder().trust(nonsense).build());
        assertThrows(
                IllegalStateException.class,
                () -> OnewriteClient.builder().key(nonsense, nonsense).build());
        assertThrows(IllegalStateException.class, () -> OnewriteClient.builder()
                .trust(pem)
                .sslContext(SslContextBuilder.forClient().build())
                .build());
    }

    /** Counts TLS records of type application data from client to server. */
    private static final class RecordCounter implements AutoCloseable {
        private final ServerSocket listener = new ServerSocket(0, 50, InetAddress.getByName("localhost"));
        private final java.util.concurrent.atomic.AtomicInteger records =
                new java.util.concurrent.atomic.AtomicInteger();

        RecordCounter(int target) throws Exception {
            daemon(() -> {
                while (true) {
                    Socket client = listener.accept();
                    Socket server = new Socket("localhost", target);
                    daemon(() -> server.getInputStream().transferTo(client.getOutputStream()));
                    daemon(() -> count(client.getInputStream(), server.getOutputStream()));
                }
            });
        }

        private void count(InputStream in, OutputStream out) throws Exception {
            byte[] header = new byte[5];
            while (in.readNBytes(header, 0, 5) == 5) {
                byte[] payload = in.readNBytes(((header[3] & 0xff) << 8) | (header[4] & 0xff));
                if (header[0] == 23) {
                    records.incrementAndGet();
                }
                byte[] whole = java.util.Arrays.copyOf(header, 5 + payload.length);
                System.arraycopy(payload, 0, whole, 5, payload.length);
                out.write(whole);
            }
        }

        int port() {
            return listener.getLocalPort();
        }

        int records() {
            return records.get();
        }

        @Override
        public void close() throws Exception {
            listener.close();
        }
    }

    private interface Task {
        void run() throws Exception;
    }

    private static void daemon(Task task) {
        Thread thread = new Thread(() -> {
            try {
                task.run();
            } catch (Exception e) {
                // The test is over: a socket was closed.
            }
        });
        thread.setDaemon(true);
        thread.start();
    }

    @Test
    void aForwardProxyGetsTheWholeUrl() throws Exception {
        try (TestServer proxy = TestServer.answering();
                OnewriteClient client = OnewriteClient.builder()
                        .proxy(new Proxy("127.0.0.1", proxy.port(), "me", "secret"))
                        .build()) {
            client.execute(Request.post("http://example.test/a?b", Body.of("x")));
            TestServer.Received received = proxy.requests().get(0);
            assertTrue(received.head().startsWith("POST http://example.test/a?b HTTP/1.1\r\n"), received.head());
            assertEquals("example.test", received.header("host"));
            assertEquals("Basic bWU6c2VjcmV0", received.header("proxy-authorization"));
        }
    }

    @Test
    void aTunnel() throws Exception {
        List<String> asked = new CopyOnWriteArrayList<>();
        try (TestServer server = tlsServer();
                TestServer proxy = new TestServer(connection -> {
                    asked.add(connection.readHead());
                    Socket target = new Socket("localhost", server.port());
                    connection.send("HTTP/1.1 200 Connected\r\n\r\n");
                    daemon(() -> target.getInputStream()
                            .transferTo(connection.socket().getOutputStream()));
                    connection.socket().getInputStream().transferTo(target.getOutputStream());
                });
                OnewriteClient client = OnewriteClient.builder()
                        .trust(pem)
                        .proxy(new Proxy("127.0.0.1", proxy.port(), "me", "secret"))
                        .build()) {
            assertEquals(200, client.execute(post(server, "localhost")).status());
            assertEquals(200, client.execute(post(server, "localhost")).status());
            assertEquals(1, asked.size());
            assertTrue(asked.get(0).contains("Basic bWU6c2VjcmV0"), asked.get(0));
            assertFalse(
                    server.requests().get(0).head().contains("roxy"), "the origin gets nothing meant for the proxy");
        }
    }

    @Test
    void aTunnelRefused() throws Exception {
        try (TestServer proxy = new TestServer(connection -> {
                    connection.readHead();
                    connection.send("HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n");
                    connection.drain();
                });
                OnewriteClient client = OnewriteClient.builder()
                        .proxy(new Proxy("127.0.0.1", proxy.port()))
                        .build()) {
            OnewriteException why = failure(client, Request.get("https://example.test/"));
            assertEquals(ErrorKind.CONNECT, why.kind());
            assertTrue(why.getMessage().contains("403"), why.getMessage());
        }
    }
}
