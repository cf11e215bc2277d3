package io.github.onewrite.client;

import static io.github.onewrite.client.PoolTest.failure;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.onewrite.Timing;
import io.github.onewrite.testing.Identity;
import io.github.onewrite.testing.TestServer;
import io.github.onewrite.testing.Tunnel;
import io.netty.handler.proxy.ProxyConnectException;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import java.io.EOFException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CopyOnWriteArrayList;
import javax.net.ssl.SSLException;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** TLS and proxies. */
class SecureTest {
    @TempDir
    static Path dir;

    private static SslContext trusting;

    @BeforeAll
    static void certificate() throws Exception {
        trusting = SslContextBuilder.forClient()
                .trustManager(Identity.localhost().chainPem().toFile())
                .endpointIdentificationAlgorithm(null)
                .build();
    }

    private static TestServer tlsServer() throws Exception {
        return TestServer.answering(Identity.listener());
    }

    private static Request.Builder post(TestServer server, String host, Body body) {
        return Request.post("https://" + host + ":" + server.port() + "/", body);
    }

    @ParameterizedTest
    @ValueSource(strings = {"nio", "epoll", "io_uring"})
    void everyBodyArrivesWhole(String transport) throws Exception {
        List<Timing> timings = new CopyOnWriteArrayList<>();
        try (TestServer server = tlsServer();
                Transports.Standing standing = Transports.build(
                        transport, OnewriteClient.builder().sslContext(trusting).onTiming(timings::add))) {
            for (int size : new int[] {0, 200, 16_300, 70_000, 1_048_577, 3_000_000}) {
                byte[] body = new byte[size];
                new Random(size).nextBytes(body);
                Path file = Files.write(dir.resolve(transport), body);
                standing.client().execute(post(server, "localhost", Body.of(body)));
                standing.client().execute(post(server, "localhost", Body.ofFile(file)));
                for (TestServer.Received received : server.requests()) {
                    assertArrayEquals(body, received.body());
                }
                server.requests().clear();
            }
            assertEquals(1, server.connections());
            assertTrue(timings.get(0).tlsNanos().isPresent());
            assertTrue(timings.get(1).tlsNanos().isEmpty());
        }
    }

    /** Its call fails, and the event loop is free for others. */
    @Test
    void aFileThatShrinks() throws Exception {
        Path file = Files.write(dir.resolve("shrinks"), new byte[5_000_000]);
        try (TestServer server = new TestServer(Identity.listener(), connection -> {
                    connection.readHead();
                    Files.write(file, new byte[10]);
                    connection.drain();
                });
                OnewriteClient client =
                        OnewriteClient.builder().sslContext(trusting).build()) {
            assertInstanceOf(EOFException.class, failure(client.send(post(server, "localhost", Body.ofFile(file)))));
        }
    }

    /** The host name is verified, also where the context given verifies the chain alone. */
    @Test
    void aServerThatIsNotTrustedOrNotTheOneNamed() throws Exception {
        try (TestServer server = tlsServer();
                OnewriteClient strict = OnewriteClient.create();
                OnewriteClient client =
                        OnewriteClient.builder().sslContext(trusting).build()) {
            assertInstanceOf(SSLException.class, failure(strict.send(post(server, "localhost", Body.none()))));
            assertInstanceOf(SSLException.class, failure(client.send(post(server, "127.0.0.1", Body.none()))));
            assertEquals(0, server.requests().size());
        }
    }

    @Test
    void aServerThatDoesNotShakeHands() throws Exception {
        try (ServerSocket silent = new ServerSocket(0, 50, InetAddress.getByName("localhost"));
                OnewriteClient client = OnewriteClient.builder()
                        .connectTimeout(Duration.ofMillis(200))
                        .build()) {
            Throwable why = failure(client.send(Request.get("https://localhost:" + silent.getLocalPort() + "/")));
            assertEquals("SslHandshakeTimeoutException", why.getClass().getSimpleName());
        }
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
        try (TestServer server = tlsServer();
                TestServer proxy = Tunnel.to(server);
                OnewriteClient client = OnewriteClient.builder()
                        .sslContext(trusting)
                        .proxy(new Proxy("127.0.0.1", proxy.port(), "me", "secret"))
                        .build()) {
            for (int i = 0; i < 2; i++) {
                assertEquals(
                        200,
                        client.execute(post(server, "localhost", Body.of("x"))).status());
            }
            assertEquals(1, proxy.connections());
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
            Throwable why = failure(client.send(Request.get("https://example.test/")));
            assertInstanceOf(ProxyConnectException.class, why);
            assertTrue(why.getMessage().contains("403"), why.getMessage());
        }
    }
}
