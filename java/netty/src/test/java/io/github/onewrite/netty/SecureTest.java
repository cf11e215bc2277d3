package io.github.onewrite.netty;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.onewrite.ErrorKind;
import io.github.onewrite.OnewriteException;
import io.github.onewrite.Timing;
import io.netty.handler.ssl.SslContextBuilder;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLServerSocket;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** TLS and proxies. */
class SecureTest {
    private static final char[] PASSWORD = "password".toCharArray();

    @TempDir
    static Path dir;

    private static Path pem;
    private static SSLContext serverContext;

    @BeforeAll
    static void certificate() throws Exception {
        Path store = dir.resolve("server.p12");
        keytool(
                "-genkeypair",
                "-keystore",
                store.toString(),
                "-keyalg",
                "EC",
                "-dname",
                "CN=localhost",
                "-ext",
                "san=dns:localhost");
        pem = dir.resolve("server.pem");
        keytool("-exportcert", "-rfc", "-keystore", store.toString(), "-file", pem.toString());
        KeyStore keys = KeyStore.getInstance("PKCS12");
        try (InputStream in = Files.newInputStream(store)) {
            keys.load(in, PASSWORD);
        }
        KeyManagerFactory factory = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
        factory.init(keys, PASSWORD);
        serverContext = SSLContext.getInstance("TLS");
        serverContext.init(factory.getKeyManagers(), null, null);
    }

    private static void keytool(String... arguments) throws Exception {
        List<String> command = new java.util.ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "keytool").toString()));
        command.addAll(List.of(arguments));
        command.addAll(List.of("-alias", "server", "-storetype", "PKCS12", "-storepass", new String(PASSWORD)));
        Process process = new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(dir.resolve("keytool.log").toFile())
                .start();
        assertTrue(process.waitFor(60, TimeUnit.SECONDS));
        assertEquals(0, process.exitValue(), Files.readString(dir.resolve("keytool.log")));
    }

    private static TestServer tlsServer() throws Exception {
        SSLServerSocket listener = (SSLServerSocket)
                serverContext.getServerSocketFactory().createServerSocket(0, 50, InetAddress.getByName("localhost"));
        return new TestServer(listener, connection -> {
            while (true) {
                connection.read();
                connection.send(TestServer.OK);
            }
        });
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
                // Whatever the context says, the name is checked: here it says to check nothing but the chain.
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

    /** A relay between client and server counts the application-data records: 20 POSTs, 20 records. */
    @Test
    void aSmallPostIsOneRecord() throws Exception {
        try (TestServer server = tlsServer();
                RecordCounter relay = new RecordCounter(server.port());
                OnewriteClient client = OnewriteClient.builder().trust(pem).build()) {
            Request.Builder request = Request.post("https://localhost:" + relay.port() + "/", Body.of("x".repeat(200)));
            client.execute(request);
            int before = relay.records();
            for (int i = 0; i < 20; i++) {
                client.execute(request);
            }
            assertEquals(20, relay.records() - before);
            client.execute(
                    Request.post("https://localhost:" + relay.port() + "/", Body.ofPublisher(Publishers.of("a", "b"))));
            assertEquals(21, relay.records() - before);
        }
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
                // A socket was closed: the end of the test.
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
