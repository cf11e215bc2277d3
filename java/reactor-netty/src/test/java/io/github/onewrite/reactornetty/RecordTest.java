package io.github.onewrite.reactornetty;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.onewrite.Cause;
import io.github.onewrite.ErrorKind;
import io.github.onewrite.Outcome;
import io.github.onewrite.Phase;
import io.github.onewrite.Timing;
import io.github.onewrite.testing.AppliedTwice;
import io.github.onewrite.testing.Eventually;
import io.github.onewrite.testing.Identity;
import io.github.onewrite.testing.Records;
import io.github.onewrite.testing.SocksServer;
import io.github.onewrite.testing.TestServer;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.handler.ssl.SslContextBuilder;
import io.netty.resolver.DefaultAddressResolverGroup;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Schedulers;
import reactor.netty.ConnectionObserver;
import reactor.netty.http.client.HttpClient;
import reactor.netty.resources.ConnectionPoolMetrics;
import reactor.netty.resources.ConnectionProvider;
import reactor.netty.resources.LoopResources;
import reactor.netty.transport.ProxyProvider;

/** Each request of Reactor Netty has a record, which says what its program saw. */
class RecordTest implements AppliedTwice {
    private static final Duration PATIENCE = Duration.ofSeconds(30);

    private final Records records = new Records();
    private final ConnectionProvider connections = ConnectionProvider.create("record-test", 1);

    @Override
    public Poster applied(int times, Records hook) {
        OnewriteReactorNetty onewrite = hook.addTo(OnewriteReactorNetty.create());
        HttpClient client = HttpClient.create(connections);
        for (int i = 0; i < times; i++) {
            client = onewrite.apply(client);
        }
        HttpClient last = client;
        return url -> post(last, url);
    }

    /** The way to the event loop, on which the channel is made, is in the record. */
    @Override
    public List<String> fresh() {
        List<String> names = new ArrayList<>(List.of("queue_start", "queue_end"));
        names.addAll(Records.FRESH);
        return names;
    }

    private OnewriteReactorNetty customizer() {
        return records.addTo(OnewriteReactorNetty.create());
    }

    @AfterEach
    void close() {
        connections.disposeLater().block(PATIENCE);
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
                .block(PATIENCE);
        return status == null ? -1 : status;
    }

    private static int get(HttpClient client, String url) {
        Integer status = client.get()
                .uri(url)
                .responseSingle((response, content) -> content.asByteArray()
                        .defaultIfEmpty(new byte[0])
                        .thenReturn(response.status().code()))
                .block(PATIENCE);
        return status == null ? -1 : status;
    }

    /** Reactor Netty has a pool for each hash of a client's configuration; Boot makes a client for each builder. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void clientsShareTheirPool(boolean observed) throws Exception {
        ConnectionObserver own = (connection, state) -> {};
        OnewriteReactorNetty onewrite = customizer();
        try (TestServer server = TestServer.answering()) {
            for (int i = 0; i < 10; i++) {
                HttpClient base = HttpClient.create(connections);
                assertEquals(200, get(onewrite.apply(observed ? base.observe(own) : base), server.url()));
                assertEquals(OptionalInt.of(i + 1), records.next().connRequests());
            }
            assertEquals(1, server.connections());
        }
    }

    /** Reactor Netty gives an interim response to the program as the answer. The final one then belongs to nobody. */
    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3})
    void anEarlyHintIsTheAnswerThatTheProgramGets(int hints) throws Exception {
        String answer = "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n".repeat(hints) + TestServer.OK;
        try (TestServer server = TestServer.answering(answer)) {
            int stock = get(HttpClient.newConnection(), server.url());
            int seen = get(customizer().apply(HttpClient.newConnection()), server.url());
            assertEquals(stock, seen);
            Timing timing = records.next();
            assertEquals(OptionalInt.of(seen), timing.status());
            assertEquals(Outcome.OK, timing.outcome());
            List<String> names = Records.names(timing);
            assertTrue(names.containsAll(List.of("response_start", "response_end")), names::toString);
            assertEquals("connection_released", names.get(names.size() - 1));
        }
    }

    /** The server does not read the body. */
    @Test
    void anEarlyAnswer() throws Exception {
        CountDownLatch answered = new CountDownLatch(1);
        try (TestServer server = new TestServer(connection -> {
            connection.readHead();
            connection.send("HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n");
            answered.await();
        })) {
            Flux<ByteBuf> slow = Flux.concat(
                    Mono.fromSupplier(() -> Unpooled.copiedBuffer("a", StandardCharsets.UTF_8)), Flux.never());
            Integer status = client().post()
                    .uri(server.url())
                    .send(slow)
                    .responseSingle((response, content) ->
                            content.asByteArray().thenReturn(response.status().code()))
                    .block(PATIENCE);
            assertEquals(413, status);
            Timing timing = records.next();
            assertEquals(OptionalInt.of(413), timing.status());
            assertEquals(Outcome.OK, timing.outcome());
            assertTrue(timing.sendNanos().isEmpty() && timing.waitNanos().isEmpty(), timing::toString);
            assertEquals(
                    "connection_released",
                    Records.names(timing).get(Records.names(timing).size() - 1));
        } finally {
            answered.countDown();
        }
    }

    @Test
    void aRedirectHasARecordOfItsOwn() throws Exception {
        try (TestServer server = TestServer.answering(
                "GET /first", "HTTP/1.1 302 Found\r\nLocation: /second?q=1\r\nContent-Length: 0\r\n\r\n")) {
            assertEquals(200, get(client().baseUrl(server.url()).followRedirect(true), "/first"));
            Timing first = records.next();
            Timing second = records.next();
            assertEquals(server.url() + "first", first.url());
            assertEquals(server.url() + "second", second.url());
            assertEquals(OptionalInt.of(302), first.status());
            assertEquals(OptionalInt.of(1), second.resend());
            assertEquals(first.connId(), second.connId());
            assertTrue(first.startedAtMonoNanos() + first.totalNanos() <= second.startedAtMonoNanos());
            assertTrue(records.isEmpty());
        }
    }

    /** Where a pool of one is in use: by a reused connection, by a new one, and where the program gives up. */
    @ParameterizedTest
    @ValueSource(strings = {"reused", "new", "given up"})
    void waitingForAConnectionIsQueue(String how) throws Exception {
        CountDownLatch go = new CountDownLatch(1);
        String answer =
                how.equals("new") ? "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n" : TestServer.OK;
        try (TestServer server = TestServer.answeringAfter(go, answer)) {
            HttpClient client = client();
            CompletableFuture<?> first =
                    client.get().uri(server.url()).responseContent().then().toFuture();
            Eventually.until(() -> server.connections() == 1);
            Mono<?> waiting =
                    client.get().uri(server.url() + "second").responseContent().then();
            if (how.equals("given up")) {
                assertThrows(RuntimeException.class, () -> waiting.timeout(Duration.ofMillis(200))
                        .block(PATIENCE));
                Timing timing = records.failed(ErrorKind.CANCELLED);
                assertEquals("GET " + server.url() + "second", timing.method() + " " + timing.url());
                assertEquals(Optional.of(Phase.QUEUE), timing.errorPhase());
                assertEquals(timing.totalNanos(), timing.queueNanos().getAsLong(), timing::toString);
                go.countDown();
                return;
            }
            CompletableFuture<?> second = waiting.toFuture();
            Thread.sleep(200);
            go.countDown();
            first.get(30, TimeUnit.SECONDS);
            second.get(30, TimeUnit.SECONDS);
            records.next();
            Timing timing = records.next();
            assertTrue(timing.queueNanos().getAsLong() > 190_000_000, timing::toString);
            assertEquals(how.equals("new"), timing.connectNanos().isPresent());
            assertEquals(Optional.of(how.equals("reused")), timing.reused());
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
            Eventually.until(() -> server.requests().size() == 1);
            assertThrows(Exception.class, () -> post(client, server.url()));
            assertEquals(
                    Optional.of(Phase.QUEUE), records.failed(ErrorKind.POOL).errorPhase());
            first.dispose();
            assertEquals(
                    Optional.of(Phase.WAIT), records.failed(ErrorKind.CANCELLED).errorPhase());
        } finally {
            narrow.disposeLater().block(PATIENCE);
        }
    }

    /** Nothing was sent: the record has the phase in which it ended, and the URL that the program gave. */
    @ParameterizedTest
    @CsvSource({"127.0.0.1, CONNECT, CONNECT", "localhost, CONNECT, CONNECT", "unknown.invalid, DNS, DNS"})
    void aServerThatCannotBeReached(String host, ErrorKind kind, Phase phase) throws Exception {
        String url = "http://" + host + ":" + TestServer.unusedPort() + "/path";
        HttpClient client =
                customizer().apply(HttpClient.create(connections).resolver(DefaultAddressResolverGroup.INSTANCE));
        assertThrows(RuntimeException.class, () -> post(client, url + "?sig=secret"));
        Timing timing = records.failed(kind);
        assertEquals(Optional.of(phase), timing.errorPhase());
        assertTrue(timing.nanos(phase).isPresent(), timing::toString);
        assertEquals(url, timing.url());
        assertEquals("POST", timing.method());
    }

    @Test
    void aHandshakeThatFails() throws Exception {
        try (TestServer server = TestServer.answering(Identity.listener())) {
            assertThrows(RuntimeException.class, () -> get(client(), "https://localhost:" + server.port() + "/"));
            Timing timing = records.failed(ErrorKind.TLS);
            assertEquals(Optional.of(Phase.TLS), timing.errorPhase());
            assertTrue(timing.connectNanos().isPresent(), timing::toString);
        }
    }

    static Stream<Flux<ByteBuf>> failing() {
        Flux<ByteBuf> error = Flux.error(new IllegalStateException("out of paper"));
        return Stream.of(
                error, Flux.concat(Mono.fromSupplier(() -> Unpooled.copiedBuffer("a", StandardCharsets.UTF_8)), error));
    }

    /** A body whose source fails before the head is written, or after. */
    @ParameterizedTest
    @MethodSource("failing")
    void theSourceFails(Flux<ByteBuf> source) throws Exception {
        try (TestServer server = TestServer.answering()) {
            IllegalStateException thrown = assertThrows(IllegalStateException.class, () -> client().post()
                    .uri(server.url())
                    .send(source)
                    .response()
                    .block(PATIENCE));
            assertEquals("out of paper", thrown.getMessage());
            records.failed(ErrorKind.OTHER);
            assertEquals(List.of(), server.requests());
        }
    }

    @ParameterizedTest
    @CsvSource({"'', CLOSED, WAIT", "'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhe', CLOSED, RECEIVE"})
    void theServerCloses(String sent, ErrorKind kind, Phase phase) throws Exception {
        try (TestServer server = new TestServer(connection -> {
            connection.read();
            connection.send(sent);
        })) {
            assertThrows(RuntimeException.class, () -> post(client(), server.url()));
            assertEquals(Optional.of(phase), records.failed(kind).errorPhase());
        }
    }

    @Test
    void aTimeLimit() throws Exception {
        try (TestServer server = TestServer.silent()) {
            HttpClient client = client().responseTimeout(Duration.ofMillis(200));
            assertThrows(RuntimeException.class, () -> post(client, server.url()));
            assertEquals(
                    Optional.of(Phase.WAIT), records.failed(ErrorKind.TIMEOUT).errorPhase());
        }
    }

    /** Reactor Netty sends nothing on a connection that is closed while the request is prepared. */
    @Test
    void aConnectionThatIsClosedBeforeTheRequest() throws Exception {
        try (TestServer server = TestServer.answering()) {
            HttpClient client = customizer()
                    .apply(HttpClient.create(connections)
                            .doOnRequest((request, connection) ->
                                    connection.channel().close()));
            assertThrows(RuntimeException.class, () -> get(client, server.url()));
            assertEquals(server.url(), records.failed(ErrorKind.CLOSED).url());
        }
    }

    /** The request of a hook has no record: it would call the hook again. */
    @Test
    void aHookMayRequest() throws Exception {
        CompletableFuture<Integer> again = new CompletableFuture<>();
        try (TestServer server = TestServer.answering()) {
            List<HttpClient> client = new ArrayList<>();
            client.add(customizer()
                    .onTiming(timing -> client.get(0)
                            .get()
                            .uri(server.url())
                            .responseSingle((response, content) -> content.asByteArray()
                                    .thenReturn(response.status().code()))
                            .subscribe(again::complete))
                    .apply(HttpClient.create(connections)));
            assertEquals(200, get(client.get(0), server.url()));
            assertEquals(200, Eventually.of(again));
            records.next();
            assertTrue(records.isEmpty());
        }
    }

    /** The connection is back in its pool while the hook runs, however long that takes. */
    @Test
    void aSlowHookCostsNoConnection() throws Exception {
        CompletableFuture<ConnectionPoolMetrics> pool = new CompletableFuture<>();
        ConnectionProvider one = ConnectionProvider.builder("slow-hook")
                .metrics(true, () -> (name, id, remote, metrics) -> pool.complete(metrics))
                .build();
        CompletableFuture<Void> running = new CompletableFuture<>();
        CountDownLatch go = new CountDownLatch(1);
        try (TestServer server = TestServer.answering()) {
            HttpClient client = OnewriteReactorNetty.create()
                    .onTiming(timing -> {
                        running.complete(null);
                        try {
                            go.await(30, TimeUnit.SECONDS);
                        } catch (InterruptedException e) {
                            throw new IllegalStateException(e);
                        }
                    })
                    .apply(HttpClient.create(one));
            assertEquals(200, post(client, server.url()));
            Eventually.of(running);
            ConnectionPoolMetrics metrics = Eventually.of(pool);
            Eventually.until(() -> metrics.idleSize() == 1);
        } finally {
            go.countDown();
            one.disposeLater().block(PATIENCE);
        }
    }

    /** One response's handler computes: the other response lies in the client's buffer meanwhile. */
    @Test
    @EnabledOnOs(OS.LINUX)
    void aBusyLoopIsNotTheServersFault() throws Exception {
        LoopResources loop = LoopResources.create("busy", 1, true);
        ConnectionProvider two = ConnectionProvider.create("busy", 2);
        try (TestServer server = new TestServer(connection -> {
            while (true) {
                connection.read();
                Thread.sleep(10);
                connection.send(TestServer.OK);
            }
        })) {
            HttpClient client = customizer().apply(HttpClient.create(two).runOn(loop, true));
            List<Timing> waited = new ArrayList<>();
            for (int round = 0; round < 2; round++) {
                Flux.range(0, 2)
                        .flatMap(i -> client.get()
                                .uri(server.url())
                                .responseSingle((response, content) -> content.asString()
                                        .doOnNext(text -> {
                                            try {
                                                Thread.sleep(400);
                                            } catch (InterruptedException e) {
                                                throw new IllegalStateException(e);
                                            }
                                        })))
                        .blockLast(PATIENCE);
                for (int i = 0; i < 2; i++) {
                    Timing timing = records.next();
                    if (timing.waitNanos().getAsLong() > 300_000_000) {
                        waited.add(timing);
                    }
                }
            }
            assertFalse(waited.isEmpty());
            for (Timing timing : waited) {
                assertEquals(Optional.of(Cause.CLIENT), timing.cause(), timing::toString);
            }
        } finally {
            two.disposeLater().block(PATIENCE);
            loop.disposeLater(Duration.ZERO, Duration.ofSeconds(5)).block(PATIENCE);
        }
    }

    /** A client that subscribes elsewhere than its program. */
    @Test
    void subscribedOnAnotherThread() throws Exception {
        try (TestServer server = TestServer.answering()) {
            HttpClient stock =
                    HttpClient.create(connections).mapConnect(connect -> connect.subscribeOn(Schedulers.parallel()));
            assertEquals(200, post(customizer().apply(stock), server.url()));
            Timing timing = records.next();
            assertEquals("POST " + server.url(), timing.method() + " " + timing.url());
            assertTrue(timing.waitNanos().isPresent());
        }
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
                    .block(PATIENCE);
            assertEquals(Outcome.OK, records.next().outcome());
            assertEquals(200, server.requests().get(0).body().length);
        }
    }

    @Test
    void aWebSocketHasNoRecord() throws Exception {
        try (TestServer server = new TestServer(connection -> {
            connection.switchToWebSocket();
            connection.send("\u0081\u0002ok");
        })) {
            String received = client().websocket()
                    .uri(server.url().replace("http:", "ws:"))
                    .receive()
                    .asString()
                    .blockLast(PATIENCE);
            assertEquals("ok", received);
            assertTrue(records.isEmpty());
        }
    }

    @Test
    void aWebSocketThatIsRefusedHasOneRecord() throws Exception {
        try (TestServer server = TestServer.answering(
                "GET /refused", "HTTP/1.1 400 No\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")) {
            HttpClient client = client();
            assertThrows(RuntimeException.class, () -> client.websocket()
                    .uri(server.url() + "refused")
                    .receive()
                    .blockLast(PATIENCE));
            assertEquals(OptionalInt.of(400), records.next().status());
            get(client, server.url());
            assertEquals(OptionalInt.of(200), records.next().status());
        }
    }

    /** flatMap cancels what it merges when one of them fails, the one that failed as well. */
    @Test
    void aCancelAfterAnErrorIsNoOtherRequest() throws Exception {
        ConnectionProvider narrow = ConnectionProvider.builder("narrow")
                .maxConnections(1)
                .pendingAcquireMaxCount(1)
                .build();
        try (TestServer server = TestServer.silent();
                TestServer other = TestServer.answering()) {
            HttpClient client = customizer().apply(HttpClient.create(narrow));
            assertThrows(RuntimeException.class, () -> Flux.range(0, 3)
                    .flatMap(i -> client.get().uri(server.url() + i).responseContent())
                    .blockLast(PATIENCE));
            List<String> ended = new ArrayList<>();
            for (int i = 0; i < 3; i++) {
                ended.add(records.next().url());
            }
            assertEquals(
                    List.of("0", "1", "2"),
                    ended.stream()
                            .map(url -> url.substring(server.url().length()))
                            .sorted()
                            .toList());
            assertEquals(200, get(client, other.url()));
            assertEquals(other.url(), records.next().url());
        } finally {
            narrow.disposeLater().block(PATIENCE);
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
            Timing timing = records.next();
            assertEquals(OptionalInt.of(200), timing.status());
            assertEquals(Optional.of("127.0.0.1:" + proxy.port()), timing.proxy());
            assertTrue(timing.connectNanos().isPresent(), timing::toString);
        }
    }

    /** The record names the proxy that could not be reached. */
    @Test
    void aProxyThatIsDown() throws Exception {
        int unused = TestServer.unusedPort();
        HttpClient client = client().proxy(spec ->
                spec.type(ProxyProvider.Proxy.HTTP).host("127.0.0.1").port(unused));
        assertThrows(RuntimeException.class, () -> get(client, "http://elsewhere.invalid/"));
        assertEquals(
                Optional.of("127.0.0.1:" + unused),
                records.failed(ErrorKind.CONNECT).proxy());
    }

    /** With hooks, too: what Reactor Netty makes of a URL for a listener of errors would throw another error. */
    @Test
    void aUrlThatIsRefused() {
        List<String> messages = new ArrayList<>();
        for (HttpClient client : List.of(HttpClient.create(connections), client())) {
            Exception thrown = assertThrows(Exception.class, () -> get(client, "http://127.0.0.1/a b"));
            messages.add(thrown.getMessage());
        }
        assertEquals(messages.get(0), messages.get(1));
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void throughASocksProxy(boolean tls) throws Exception {
        var trusting = SslContextBuilder.forClient()
                .trustManager(Identity.localhost().chainPem().toFile())
                .build();
        try (TestServer server = tls ? TestServer.answering(Identity.listener()) : TestServer.answering();
                SocksServer socks = new SocksServer()) {
            HttpClient client = client().proxy(proxy -> proxy.type(ProxyProvider.Proxy.SOCKS5)
                            .host("127.0.0.1")
                            .port(socks.port()))
                    .secure(spec -> spec.sslContext(trusting));
            assertEquals(200, post(client, (tls ? "https" : "http") + "://localhost:" + server.port() + "/"));
            Timing timing = records.next();
            assertTrue(timing.connectNanos().isPresent(), timing::toString);
            assertEquals(tls, timing.tlsNanos().isPresent(), timing::toString);
        }
    }
}
