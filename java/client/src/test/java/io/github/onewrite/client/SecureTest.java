package io.github.onewrite.client;

import static io.github.onewrite.client.PoolTest.failure;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.onewrite.Timing;
import io.github.onewrite.testing.Identity;
import io.github.onewrite.testing.TestServer;
import io.github.onewrite.testing.Tunnel;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import java.io.EOFException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
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

    /** The proxy resolves the origin's name. The client resolves the proxy's, unless it is an address. */
    @ParameterizedTest
    @ValueSource(strings = {"127.0.0.1", "localhost"})
    void aLookupIsOfTheProxy(String host) throws Exception {
        List<String> names = new CopyOnWriteArrayList<>();
        BlockingQueue<Timing> calls = new LinkedBlockingQueue<>();
        try (TestServer proxy = TestServer.answering(TestServer.OK.replace("200", "407"));
                OnewriteClient client = OnewriteClient.builder()
                        .proxy(new Proxy(host, proxy.port()))
                        .listener(event -> event.host().ifPresent(names::add))
                        .onTiming(calls::add)
                        .build()) {
            failure(client.send(Request.get("https://shop.test/")));
            Timing timing = Objects.requireNonNull(calls.poll(30, TimeUnit.SECONDS));
            assertEquals(Optional.of(host + ":" + proxy.port()), timing.proxy());
            assertEquals(host.equals("localhost"), timing.dnsNanos().isPresent());
            assertEquals(host.equals("localhost") ? List.of(host) : List.of(), names);
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
}
