package io.github.onewrite.reactornetty;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.onewrite.Attempt;
import io.github.onewrite.ErrorKind;
import io.github.onewrite.Outcome;
import io.github.onewrite.Phase;
import io.github.onewrite.Timing;
import io.github.onewrite.TimingEvent;
import io.github.onewrite.TimingListener;
import io.github.onewrite.testing.AppliedTwice;
import io.github.onewrite.testing.Calls;
import io.github.onewrite.testing.Eventually;
import io.github.onewrite.testing.Identity;
import io.github.onewrite.testing.SocksServer;
import io.github.onewrite.testing.TestServer;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import io.netty.resolver.AbstractAddressResolver;
import io.netty.resolver.AddressResolver;
import io.netty.resolver.AddressResolverGroup;
import io.netty.resolver.DefaultAddressResolverGroup;
import io.netty.util.concurrent.DefaultEventExecutor;
import io.netty.util.concurrent.EventExecutor;
import io.netty.util.concurrent.Promise;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Schedulers;
import reactor.netty.http.client.HttpClient;
import reactor.netty.resources.ConnectionPoolMetrics;
import reactor.netty.resources.ConnectionProvider;
import reactor.netty.transport.ProxyProvider;

/** Records, and the order of events, of calls through Reactor Netty. */
class TimingTest implements AppliedTwice {
    private final Calls calls = new Calls();
    private final ConnectionProvider connections = ConnectionProvider.create("timing-test", 1);

    @Override
    public Poster applied(int times, Calls heard) {
        OnewriteReactorNetty onewrite = heard.heard(OnewriteReactorNetty.create());
        HttpClient client = HttpClient.create(connections);
        for (int i = 0; i < times; i++) {
            client = onewrite.apply(client);
        }
        HttpClient last = client;
        return url -> post(last, url);
    }

    private OnewriteReactorNetty customizer() {
        return calls.heard(OnewriteReactorNetty.create());
    }

    @AfterEach
    void close() {
        connections.disposeLater().block(Duration.ofSeconds(30));
    }

    private HttpClient client() {
        return customizer().apply(HttpClient.create(connections));
    }

    private static int post(HttpClient client, String url) {
        Integer status = client.post()
                .uri(url)
                .send(Flux.just("a", "b").map(text -> Unpooled.copiedBuffer(text, StandardCharsets.UTF_8)))
                .responseSingle((response, content) ->
                        content.asByteArray().then(Mono.just(response.status().code())))
                .block(Duration.ofSeconds(30));
        return status == null ? -1 : status;
    }

    private static Attempt only(Timing timing) {
        assertEquals(1, timing.attempts().size());
        return timing.attempts().get(0);
    }

    /** Reactor Netty writes all parts of a stream with the same promise, which takes no listeners. */
    @Test
    void aStreamWithALengthIsSent() throws Exception {
        try (TestServer server = TestServer.answering()) {
            client().headers(headers -> headers.set("content-length", 200))
                    .post()
                    .uri(server.url())
                    .send(Flux.just(new byte[100], new byte[100]).map(Unpooled::wrappedBuffer))
                    .responseSingle((response, content) -> content.asByteArray())
                    .block(Duration.ofSeconds(30));
            assertEquals(Outcome.OK, calls.next().outcome());
            assertEquals(200, server.requests().get(0).body().length);
        }
    }

    /** A client that subscribes elsewhere than its caller: the call starts with its request. */
    @Test
    void subscribedOnAnotherThread() throws Exception {
        try (TestServer server = TestServer.answering()) {
            HttpClient stock =
                    HttpClient.create(connections).mapConnect(connect -> connect.subscribeOn(Schedulers.parallel()));
            assertEquals(200, post(customizer().apply(stock), server.url()));
            Timing timing = calls.next();
            assertEquals("POST " + server.url(), timing.method() + " " + timing.url());
            assertTrue(only(timing).waitNanos().isPresent());
        }
    }

    /** The connection is back in its pool while the hook runs, however long that takes. */
    @Test
    void aSlowHookCostsNoConnection() throws Exception {
        CompletableFuture<ConnectionPoolMetrics> pool = new CompletableFuture<>();
        ConnectionProvider one = ConnectionProvider.builder("slow-hook")
                .metrics(true, () -> (name, id, remote, metrics) -> pool.complete(metrics))
                .build();
        CountDownLatch running = new CountDownLatch(1);
        CountDownLatch go = new CountDownLatch(1);
        try (TestServer server = TestServer.answering()) {
            HttpClient client = OnewriteReactorNetty.create()
                    .onTiming(timing -> {
                        running.countDown();
                        assertDoesNotThrow(() -> go.await(30, TimeUnit.SECONDS));
                    })
                    .apply(HttpClient.create(one));
            assertEquals(200, post(client, server.url()));
            assertTrue(running.await(30, TimeUnit.SECONDS));
            ConnectionPoolMetrics metrics = Eventually.of(pool);
            Eventually.until(() -> metrics.idleSize() == 1);
        } finally {
            go.countDown();
            one.disposeLater().block(Duration.ofSeconds(30));
        }
    }

    /** Reactor Netty takes user information in a URL for a part of the host name, and so cannot resolve it. */
    @Test
    void recordsAndEventsShowNoCredentials() throws Exception {
        List<String> shown = new CopyOnWriteArrayList<>();
        HttpClient client = customizer()
                .listener(event -> shown.add(event.toString()))
                .apply(HttpClient.create(connections).resolver(DefaultAddressResolverGroup.INSTANCE));
        assertThrows(RuntimeException.class, () -> post(client, "http://user:secret@unknown.invalid/?sig=secret"));
        Timing timing = calls.next();
        assertEquals("http://unknown.invalid/?sig=REDACTED", timing.url());
        assertEquals(ErrorKind.DNS, timing.errorKind().orElseThrow());
        assertEquals(Phase.DNS, timing.errorPhase().orElseThrow());
        assertTrue(shown.toString().contains("unknown.invalid"), shown.toString());
        assertFalse(shown.toString().contains("secret"), shown.toString());
    }

    /** Brings each address at once, and reports that on another thread. */
    private static AddressResolverGroup<InetSocketAddress> reporting(EventExecutor reports) {
        return new AddressResolverGroup<>() {
            @Override
            protected AddressResolver<InetSocketAddress> newResolver(EventExecutor executor) {
                return new AbstractAddressResolver<>(reports) {
                    @Override
                    protected boolean doIsResolved(InetSocketAddress address) {
                        return !address.isUnresolved();
                    }

                    @Override
                    protected void doResolve(InetSocketAddress address, Promise<InetSocketAddress> found) {
                        found.setSuccess(new InetSocketAddress(address.getHostString(), address.getPort()));
                    }

                    @Override
                    protected void doResolveAll(InetSocketAddress address, Promise<List<InetSocketAddress>> found) {
                        found.setSuccess(List.of(new InetSocketAddress(address.getHostString(), address.getPort())));
                    }
                };
            }
        };
    }

    /** The report comes when the server has the request, or its hook lasts until the request is written. */
    @ParameterizedTest(name = "slow hook {0}")
    @ValueSource(booleans = {false, true})
    void aLookupThatIsReportedLate(boolean slowHook) throws Exception {
        DefaultEventExecutor reports = new DefaultEventExecutor();
        CountDownLatch sent = new CountDownLatch(1);
        if (!slowHook) {
            reports.execute(() -> assertDoesNotThrow(() -> sent.await(30, TimeUnit.SECONDS)));
        }
        TimingListener hook = event -> {
            if (event.type() == TimingEvent.Type.DNS_END) {
                // Called on the resolver's thread, it would hold the steps of the connection's loop.
                assertDoesNotThrow(() -> slowHook && reports.inEventLoop() && sent.await(30, TimeUnit.SECONDS));
            }
        };
        Callable<?> reported = () -> {
            sent.countDown();
            return reports.submit(() -> {}).get(30, TimeUnit.SECONDS);
        };
        try (AddressResolverGroup<InetSocketAddress> resolver = reporting(reports);
                TestServer server = new TestServer(connection -> {
                    connection.read();
                    reported.call();
                    connection.send(TestServer.OK);
                })) {
            HttpClient stock = HttpClient.create(connections).resolver(resolver);
            HttpClient client = customizer()
                    .listener(hook)
                    .apply(slowHook ? stock.doOnRequest((request, to) -> assertDoesNotThrow(reported::call)) : stock);
            assertEquals(200, post(client, server.url().replace("127.0.0.1", "localhost")));
            Timing timing = calls.next();
            assertEquals(200, only(timing).status().orElseThrow());
            for (Phase phase : List.of(Phase.DNS, Phase.CONNECT, Phase.SEND, Phase.WAIT)) {
                assertTrue(only(timing).nanos(phase).isPresent(), timing::toString);
            }
            assertEquals(
                    List.of("dns_start", "dns_end", "connect_start"),
                    calls.names().subList(2, 5));
        } finally {
            sent.countDown();
            reports.shutdownGracefully();
        }
    }

    /** Three calls on one connection: the second and third have a queue phase. */
    @Test
    void waitingForAConnectionIsQueue() throws Exception {
        CountDownLatch go = new CountDownLatch(1);
        try (TestServer server = new TestServer(connection -> {
            connection.read();
            go.await(30, TimeUnit.SECONDS);
            connection.send(TestServer.OK);
            connection.answerAll(TestServer.OK);
        })) {
            HttpClient client = client();
            CompletableFuture<?>[] all = new CompletableFuture<?>[3];
            for (int i = 0; i < all.length; i++) {
                all[i] = client.get().uri(server.url()).responseContent().then().toFuture();
            }
            go.countDown();
            CompletableFuture.allOf(all).get(30, TimeUnit.SECONDS);
            int queued = 0;
            for (int i = 0; i < all.length; i++) {
                Timing timing = calls.next();
                assertEquals(timing.reused().orElseThrow(), timing.queueNanos().isPresent());
                queued += timing.queueNanos().isPresent() ? 1 : 0;
            }
            assertEquals(2, queued);
            assertEquals(1, server.connections());
        }
    }

    @Test
    void theTagAndTheBaseUrl() throws Exception {
        try (TestServer server = TestServer.answering()) {
            client().baseUrl(server.url())
                    .get()
                    .uri("/path?q=1")
                    .response()
                    .contextWrite(context -> context.put(OnewriteReactorNetty.TAG, "order 7"))
                    .block(Duration.ofSeconds(30));
            Timing timing = calls.next();
            assertEquals("order 7", timing.tag().orElseThrow());
            assertEquals(server.url() + "path?q=1", timing.url());
        }
    }

    @Test
    void thePoolIsFull() throws Exception {
        ConnectionProvider narrow = ConnectionProvider.builder("narrow")
                .maxConnections(1)
                .pendingAcquireTimeout(Duration.ofMillis(200))
                .build();
        try (TestServer server = TestServer.silent()) {
            HttpClient client = customizer().apply(HttpClient.create(narrow));
            var first = client.get().uri(server.url()).response().subscribe(response -> {}, error -> {});
            assertThrows(Exception.class, () -> post(client, server.url()));
            Timing timing = calls.next();
            calls.assertFailed(timing);
            assertEquals(ErrorKind.POOL, timing.errorKind().orElseThrow());
            assertEquals(Phase.QUEUE, timing.errorPhase().orElseThrow());
            first.dispose();
            assertEquals(Outcome.CANCELLED, calls.next().outcome());
        } finally {
            narrow.disposeLater().block(Duration.ofSeconds(30));
        }
    }

    /** A body whose source fails: the call fails, and nothing was sent. */
    @Test
    void theSourceFails() throws Exception {
        try (TestServer server = TestServer.answering()) {
            Flux<ByteBuf> source = Flux.concat(
                    Mono.fromSupplier(() -> Unpooled.copiedBuffer("a", StandardCharsets.UTF_8)),
                    Flux.error(new IllegalStateException("out of paper")));
            IllegalStateException thrown = assertThrows(IllegalStateException.class, () -> client().post()
                    .uri(server.url())
                    .send(source)
                    .response()
                    .block(Duration.ofSeconds(30)));
            assertEquals("out of paper", thrown.getMessage());
            assertEquals(Outcome.ERROR, calls.next().outcome());
            assertEquals(List.of(), server.requests());
        }
    }

    /** A WebSocket is one call with status 101, which lasts until it is closed. */
    @Test
    void aWebSocket() throws Exception {
        try (TestServer server = new TestServer(connection -> {
            connection.switchToWebSocket();
            connection.send("\u0081\u0002ok");
        })) {
            String received = client().websocket()
                    .uri(server.url().replace("http:", "ws:"))
                    .receive()
                    .asString()
                    .blockLast();
            assertEquals("ok", received);
            Timing timing = calls.next();
            assertEquals(Outcome.OK, timing.outcome());
            assertEquals(101, timing.status().orElseThrow());
        }
    }

    /** Reactor Netty tunnels http, too: the CONNECT exchange is part of the connect phase. */
    @Test
    void throughAProxy() throws Exception {
        try (TestServer proxy = new TestServer(connection -> {
            connection.readHead();
            connection.send("HTTP/1.1 200 OK\r\n\r\n");
            connection.answerAll(TestServer.OK);
        })) {
            HttpClient client = client().proxy(spec ->
                    spec.type(ProxyProvider.Proxy.HTTP).host("127.0.0.1").port(proxy.port()));
            assertEquals(200, post(client, "http://elsewhere.invalid/"));
            Timing timing = calls.next();
            assertEquals(200, timing.status().orElseThrow());
            assertEquals(Calls.FRESH, calls.names());
            assertEquals(1, only(timing).writes().orElseThrow());
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void throughASocksProxy(boolean tls) throws Exception {
        SslContext trusting = SslContextBuilder.forClient()
                .trustManager(Identity.localhost().chainPem().toFile())
                .build();
        try (TestServer server = tls ? TestServer.answering(Identity.listener()) : TestServer.answering();
                SocksServer socks = new SocksServer()) {
            HttpClient client = client().proxy(proxy -> proxy.type(ProxyProvider.Proxy.SOCKS5)
                            .host("127.0.0.1")
                            .port(socks.port()))
                    .secure(spec -> spec.sslContext(trusting));
            assertEquals(200, post(client, (tls ? "https" : "http") + "://localhost:" + server.port() + "/"));
            Timing timing = calls.next();
            assertTrue(timing.connectNanos().isPresent(), timing::toString);
            assertEquals(tls, timing.tlsNanos().isPresent(), timing::toString);
            // SslHandler itself flushes what is written while its handshake ends.
            assertTrue(only(timing).writes().orElseThrow() <= (tls ? 2 : 1), timing::toString);
        }
    }
}
