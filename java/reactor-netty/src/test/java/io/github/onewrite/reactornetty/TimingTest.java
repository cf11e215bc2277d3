package io.github.onewrite.reactornetty;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.onewrite.Attempt;
import io.github.onewrite.ErrorKind;
import io.github.onewrite.OnewriteConfig;
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
import io.github.onewrite.testing.Tunnel;
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
import java.io.ByteArrayInputStream;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.time.Duration;
import java.util.Base64;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Schedulers;
import reactor.netty.http.client.HttpClient;
import reactor.netty.resources.ConnectionPoolMetrics;
import reactor.netty.resources.ConnectionProvider;
import reactor.netty.resources.LoopResources;
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
                .listener(new TimingListener() {
                    @Override
                    public void onEvent(TimingEvent event) {
                        shown.add(event.toString());
                    }
                })
                .apply(HttpClient.create(connections).resolver(DefaultAddressResolverGroup.INSTANCE));
        assertThrows(RuntimeException.class, () -> post(client, "http://user:secret@unknown.invalid/?sig=secret"));
        Timing timing = calls.next();
        assertEquals("http://unknown.invalid/?sig=REDACTED", timing.url());
        assertEquals(ErrorKind.DNS, timing.errorKind().orElseThrow());
        assertEquals(Phase.DNS, timing.errorPhase().orElseThrow());
        assertTrue(shown.toString().contains("unknown.invalid"), shown.toString());
        assertFalse(shown.toString().contains("secret"), shown.toString());
    }

    @Test
    void aFreshAndAReusedConnection() throws Exception {
        try (TestServer server = TestServer.answering()) {
            HttpClient client = client();
            assertEquals(200, post(client, server.url()));
            Timing first = calls.next();
            calls.assertFresh(first, server.url());

            // Reactor Netty completes before the connection is back: the next call may open a second one, or queue.
            Timing second = first;
            for (int i = 0; i < 20 && !second.reused().orElseThrow(); i++) {
                assertEquals(200, post(client, server.url()));
                second = calls.next();
            }
            List<String> names = calls.names();
            assertEquals(
                    Calls.REUSED,
                    names.stream().filter(name -> !name.startsWith("queue_")).toList());
            assertEquals(first.connId(), second.connId());
            assertTrue(only(second).connRequests().orElseThrow() > 1);
            assertTrue(only(second).idleNanos().isPresent());
            assertTrue(second.connectNanos().isEmpty());
            assertEquals(
                    server.requests().get(1).head().length() + "1\r\na\r\n1\r\nb\r\n0\r\n\r\n".length(),
                    only(second).bytesSent().orElseThrow());
        }
    }

    @Test
    void aNameIsLookedUp() throws Exception {
        try (TestServer server = TestServer.answering()) {
            HttpClient client =
                    customizer().apply(HttpClient.create(connections).resolver(DefaultAddressResolverGroup.INSTANCE));
            assertEquals(200, post(client, server.url().replace("127.0.0.1", "localhost")));
            Timing timing = calls.next();
            assertTrue(timing.dnsNanos().isPresent() && timing.connectNanos().isPresent());
            List<String> names = calls.names();
            assertEquals(List.of("dns_start", "dns_end", "connect_start", "connect_end"), names.subList(2, 6));
        }
    }

    /** Resolvers report on a thread of their own, which may be late. */
    @Test
    void aLookupReportedWhileTheServerThinks() throws Exception {
        DefaultEventExecutor reporting = new DefaultEventExecutor();
        CountDownLatch sent = new CountDownLatch(1);
        reporting.execute(() -> assertDoesNotThrow(() -> sent.await(30, TimeUnit.SECONDS)));
        AddressResolverGroup<InetSocketAddress> late = new AddressResolverGroup<>() {
            @Override
            protected AddressResolver<InetSocketAddress> newResolver(EventExecutor executor) {
                return new AbstractAddressResolver<>(reporting) {
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
        try (late;
                TestServer server = new TestServer(connection -> {
                    connection.read();
                    sent.countDown();
                    reporting.submit(() -> {}).get(30, TimeUnit.SECONDS);
                    connection.send(TestServer.OK);
                })) {
            HttpClient client =
                    customizer().apply(HttpClient.create(connections).resolver(late));
            assertEquals(200, post(client, server.url().replace("127.0.0.1", "localhost")));
            Timing timing = calls.next();
            assertEquals(200, only(timing).status().orElseThrow());
            assertTrue(timing.dnsNanos().isPresent() && timing.waitNanos().isPresent(), timing::toString);
            assertEquals(
                    List.of("dns_start", "dns_end", "connect_start"),
                    calls.names().subList(2, 5));
        } finally {
            sent.countDown();
            reporting.shutdownGracefully();
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

    /** Reactor Netty follows the redirect; each hop is an attempt. */
    @Test
    void aRedirectIsAnAttempt() throws Exception {
        try (TestServer server = TestServer.answering(
                "GET /first", "HTTP/1.1 302 Found\r\nLocation: /second\r\nContent-Length: 4\r\n\r\ngone")) {
            client().followRedirect(true)
                    .get()
                    .uri(server.url() + "first")
                    .responseContent()
                    .then()
                    .block(Duration.ofSeconds(30));
            Timing timing = calls.next();
            assertEquals(2, timing.attempts().size());
            assertEquals(302, timing.attempts().get(0).status().orElseThrow());
            assertEquals(Outcome.OK, timing.attempts().get(0).outcome());
            assertEquals(200, timing.status().orElseThrow());
            List<String> names = calls.names();
            assertEquals(2, names.stream().filter("response_end"::equals).count());
            assertEquals(2, names.stream().filter("connection_released"::equals).count());
            assertEquals("call_end", names.get(names.size() - 1));
        }
    }

    @Test
    void anInterimResponse() throws Exception {
        try (TestServer server = TestServer.answeringOnce("HTTP/1.1 100 Continue\r\n\r\n" + TestServer.OK)) {
            assertEquals(200, post(client(), server.url()));
            assertEquals(200, calls.next().status().orElseThrow());
            List<String> names = calls.names();
            assertTrue(names.indexOf("informational") < names.indexOf("response_start"), names::toString);
            assertEquals(1, names.stream().filter("response_start"::equals).count());
        }
    }

    private Timing failed(HttpClient client, String url) throws Exception {
        assertThrows(Throwable.class, () -> post(client, url));
        Timing timing = calls.next();
        calls.assertFailed(timing);
        return timing;
    }

    @Test
    void refused() throws Exception {
        Timing timing = failed(client(), "http://127.0.0.1:" + TestServer.unusedPort() + "/");
        assertEquals(ErrorKind.CONNECT, timing.errorKind().orElseThrow());
        assertEquals(Phase.CONNECT, timing.errorPhase().orElseThrow());
    }

    @Test
    void anAnswerThatIsNotHttp() throws Exception {
        try (TestServer server = TestServer.answeringOnce("SSH-2.0-OpenSSH_9.2\r\n")) {
            Timing timing = failed(client(), server.url());
            assertEquals(ErrorKind.PROTOCOL, timing.errorKind().orElseThrow());
        }
    }

    /** TLS is over the tunnel, which the proxy refuses: Netty has this as a failure of TLS. */
    @Test
    void aProxyThatRefuses() throws Exception {
        try (TestServer proxy = TestServer.answeringOnce("HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")) {
            SslContext trusting = trusting();
            HttpClient client = through(proxy).secure(tls -> tls.sslContext(trusting));
            Timing timing = failed(customizer().apply(client), "https://localhost/");
            assertEquals(ErrorKind.CONNECT, timing.errorKind().orElseThrow());
            assertEquals(Phase.CONNECT, timing.errorPhase().orElseThrow());
        }
    }

    /** Its last content comes from an encoder that is one message above the handlers. */
    @Test
    void aMultipartForm() throws Exception {
        try (TestServer server = TestServer.answering()) {
            client().post()
                    .uri(server.url())
                    .sendForm((request, form) ->
                            form.multipart(true).attr("a", "b").file("f", new ByteArrayInputStream(new byte[20_000])))
                    .responseContent()
                    .then()
                    .block(Duration.ofSeconds(30));
            Attempt attempt = only(calls.next());
            assertTrue(attempt.nanos(Phase.SEND).isPresent()
                    && attempt.nanos(Phase.WAIT).isPresent());
            assertTrue(attempt.bytesSent().orElseThrow() > 20_000);
        }
    }

    /** The server reads a POST and closes: it is not sent again. */
    @Test
    void closedWithoutAnAnswer() throws Exception {
        AtomicInteger received = new AtomicInteger();
        try (TestServer server = new TestServer(connection -> {
            connection.read();
            received.incrementAndGet();
        })) {
            Timing timing = failed(client(), server.url());
            assertEquals(ErrorKind.CLOSED, timing.errorKind().orElseThrow());
            assertEquals(Phase.WAIT, timing.errorPhase().orElseThrow());
            assertEquals(1, received.get());
        }
    }

    @Test
    void closedInTheMiddleOfTheBody() throws Exception {
        try (TestServer server = new TestServer(connection -> {
            connection.read();
            connection.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this");
        })) {
            Timing timing = failed(client(), server.url());
            assertEquals(ErrorKind.CLOSED, timing.errorKind().orElseThrow());
            assertEquals(Phase.RECEIVE, timing.errorPhase().orElseThrow());
            assertEquals(200, timing.status().orElseThrow());
        }
    }

    @Test
    void noAnswerInTime() throws Exception {
        try (TestServer server = TestServer.silent()) {
            Timing timing = failed(client().responseTimeout(Duration.ofMillis(200)), server.url());
            assertEquals(ErrorKind.TIMEOUT, timing.errorKind().orElseThrow());
            assertEquals(Phase.WAIT, timing.errorPhase().orElseThrow());
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
            Timing timing = failed(client, server.url());
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

    @Test
    void cancelledWhileWaiting() throws Exception {
        try (TestServer server = TestServer.silent()) {
            var call = client().get().uri(server.url()).response().subscribe();
            Eventually.until(() -> server.requests().size() == 1);
            call.dispose();
            Timing timing = calls.next();
            assertEquals(Outcome.CANCELLED, timing.outcome());
            assertEquals(ErrorKind.CANCELLED, timing.errorKind().orElseThrow());
            assertEquals(1, calls.names().stream().filter("call_end"::equals).count());
        }
    }

    @Test
    void cancelledInTheMiddleOfTheBody() throws Exception {
        try (TestServer server =
                TestServer.answeringOnce("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nthe first part")) {
            String part = client().get()
                    .uri(server.url())
                    .responseContent()
                    .asString()
                    .blockFirst();
            assertEquals("the first part", part);
            Timing timing = calls.next();
            assertEquals(Outcome.CANCELLED, timing.outcome());
            assertEquals(200, timing.status().orElseThrow());
        }
    }

    /** A WebSocket is one call with status 101, which lasts until it is closed. */
    @Test
    void aWebSocket() throws Exception {
        try (TestServer server = new TestServer(connection -> {
            String key = connection.read().header("sec-websocket-key");
            byte[] accept = MessageDigest.getInstance("SHA-1")
                    .digest((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").getBytes(StandardCharsets.US_ASCII));
            connection.send("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                    + "Sec-WebSocket-Accept: " + Base64.getEncoder().encodeToString(accept) + "\r\n\r\n\u0081\u0002ok");
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

    private static SslContext trusting() throws Exception {
        return SslContextBuilder.forClient()
                .trustManager(Identity.localhost().chainPem().toFile())
                .build();
    }

    /** A client through this proxy, without a customizer. */
    private HttpClient through(TestServer proxy) {
        return HttpClient.create(connections)
                .proxy(spec ->
                        spec.type(ProxyProvider.Proxy.HTTP).host("127.0.0.1").port(proxy.port()));
    }

    @Test
    void overTls() throws Exception {
        SslContext trusting = trusting();
        try (TestServer server = TestServer.answering(Identity.listener())) {
            HttpClient client = client().secure(spec -> spec.sslContext(trusting));
            assertEquals(200, post(client, "https://localhost:" + server.port() + "/"));
            calls.assertFreshOverTls(calls.next());
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
            HttpClient client = customizer().apply(through(proxy));
            assertEquals(200, post(client, "http://elsewhere.invalid/"));
            Timing timing = calls.next();
            assertEquals(200, timing.status().orElseThrow());
            assertEquals(Calls.FRESH, calls.names());
            assertEquals(1, only(timing).writes().orElseThrow());
        }
    }

    /** With TLS the tunnel is made before TLS begins, and before the client has its codec. */
    @Test
    void overTlsThroughAProxy() throws Exception {
        SslContext trusting = trusting();
        try (TestServer server = TestServer.answering(Identity.listener());
                TestServer proxy = Tunnel.to(server)) {
            HttpClient client = customizer().apply(through(proxy).secure(spec -> spec.sslContext(trusting)));
            assertEquals(200, post(client, "https://localhost:" + server.port() + "/"));
            Timing timing = calls.next();
            assertEquals(200, timing.status().orElseThrow());
            calls.assertFreshOverTls(timing);
            assertEquals(200, post(client, "https://localhost:" + server.port() + "/"));
            assertEquals(200, calls.next().status().orElseThrow());
            assertEquals(Calls.REUSED, calls.names());
        }
    }

    @Test
    void aCertificateThatIsNotTrusted() throws Exception {
        try (TestServer server = TestServer.answering(Identity.listener())) {
            HttpClient client = client();
            assertThrows(RuntimeException.class, () -> post(client, "https://localhost:" + server.port() + "/"));
            Timing timing = calls.next();
            assertEquals(ErrorKind.TLS, timing.errorKind().orElseThrow());
            assertEquals(Phase.TLS, timing.errorPhase().orElseThrow());
        }
    }

    @Test
    void hooksThatThrowChangeNothing() throws Exception {
        OnewriteReactorNetty throwing = Calls.throwing(OnewriteReactorNetty.create());
        try (TestServer server = TestServer.answering()) {
            HttpClient client = throwing.apply(HttpClient.create(connections));
            assertEquals(0, throwing.hookFailures());
            assertEquals(200, post(client, server.url()));
            assertEquals(200, post(client, server.url()));
            // The record comes when the connection is back, which is after the response.
            Eventually.until(() -> throwing.hookFailures() == 4);
        }
    }

    @Test
    void switchedOffNothingIsHeard() throws Exception {
        try (TestServer server = TestServer.answering()) {
            HttpClient client = customizer()
                    .config(OnewriteConfig.defaults().withHooksDisabled(true))
                    .apply(HttpClient.create(connections));
            assertEquals(200, post(client, server.url()));
            assertTrue(calls.none());
            assertEquals(List.of(), calls.names());
        }
    }

    @Test
    @EnabledOnOs(OS.LINUX)
    void kernelEvidenceOnEpoll() throws Exception {
        LoopResources loops = LoopResources.create("epoll-test", 1, true);
        try (TestServer server = TestServer.answering()) {
            HttpClient client =
                    customizer().apply(HttpClient.create(connections).runOn(loops, true));
            Set<Long> segments = new java.util.HashSet<>();
            for (int i = 0; i < 20; i++) {
                assertEquals(200, post(client, server.url()));
                var kernel = calls.next().kernel().orElseThrow();
                assertTrue(kernel.rttMicros().isPresent());
                segments.add(kernel.segmentsOut().orElse(-1));
            }
            assertTrue(segments.contains(1L), segments::toString);
        } finally {
            // Connections first, while their event loop still runs.
            connections.disposeLater().block(Duration.ofSeconds(30));
            loops.disposeLater(Duration.ZERO, Duration.ofSeconds(5)).block(Duration.ofSeconds(30));
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void throughASocksProxy(boolean tls) throws Exception {
        SslContext trusting = trusting();
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
            assertEquals(1, only(timing).writes().orElseThrow());
        }
    }
}
