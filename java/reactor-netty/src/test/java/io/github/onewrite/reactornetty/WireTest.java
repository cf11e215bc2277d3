package io.github.onewrite.reactornetty;

import static io.github.onewrite.testing.SegmentServer.REQUESTS;
import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.onewrite.OnewriteConfig;
import io.github.onewrite.testing.Eventually;
import io.github.onewrite.testing.SegmentServer;
import io.github.onewrite.testing.TestServer;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelOption;
import java.io.ByteArrayInputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.reactivestreams.Publisher;
import reactor.core.Exceptions;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.netty.http.client.HttpClient;
import reactor.netty.resources.ConnectionProvider;
import reactor.netty.resources.LoopResources;

/** Each request is one segment, counted at the server, with NIO and epoll; the stock client is the control. */
@EnabledOnOs(OS.LINUX)
class WireTest {
    private static final String SMALL = "x".repeat(200);

    @TempDir
    static Path dir;

    private static ByteBuf buffer(String text) {
        return Unpooled.copiedBuffer(text, StandardCharsets.UTF_8);
    }

    /** A cold source of these texts. */
    private static Flux<ByteBuf> flux(String... texts) {
        return Flux.fromArray(texts).map(WireTest::buffer);
    }

    static Stream<Arguments> bodies() {
        List<Arguments> all = new ArrayList<>();
        for (boolean epoll : new boolean[] {false, true}) {
            all.add(body(epoll, "mono", -1, Mono.fromSupplier(() -> buffer(SMALL))));
            all.add(body(epoll, "flux of one", -1, flux(SMALL)));
            all.add(body(epoll, "flux of three", -1, flux("a", SMALL, "b")));
            all.add(body(
                    epoll, "flux that cannot be polled", -1, flux("a", SMALL).hide()));
            all.add(body(epoll, "flux with length", 3, flux("a", "bc")));
            all.add(body(epoll, "flux of 10 kB", -1, flux("x".repeat(5000), "y".repeat(5000))));
            all.add(body(epoll, "empty flux", -1, Flux.empty()));
        }
        return all.stream();
    }

    private static Arguments body(boolean epoll, String name, int length, Publisher<ByteBuf> body) {
        return Arguments.of(epoll ? "epoll" : "nio", name, length, body);
    }

    /** Sends the POSTs one after the other, and returns the most frequent number of segments. */
    private static int segments(HttpClient client, int length, Publisher<ByteBuf> body) throws Exception {
        try (SegmentServer server = new SegmentServer()) {
            for (int i = 0; i < REQUESTS; i++) {
                assertEquals(200, post(client, server.url(), length, body));
            }
            assertEquals(REQUESTS, server.segments().size());
            return server.mode();
        }
    }

    private static int post(HttpClient client, String url, int length, Publisher<ByteBuf> body) {
        Integer status = client.headers(headers -> {
                    if (length >= 0) {
                        headers.set("content-length", length);
                    }
                })
                .post()
                .uri(url)
                .send(body)
                .responseSingle((response, content) ->
                        content.asByteArray().then(Mono.just(response.status().code())))
                .block(Duration.ofSeconds(30));
        assertTrue(status != null);
        return status;
    }

    /** A client with its own event loops and pool, both closed at the end. */
    private static void with(String transport, ClientTest test) throws Exception {
        LoopResources loops = LoopResources.create("test", 1, true);
        ConnectionProvider connections = ConnectionProvider.create("test", 1);
        try {
            test.run(HttpClient.create(connections).runOn(loops, transport.equals("epoll")));
        } finally {
            connections.disposeLater().block(Duration.ofSeconds(30));
            loops.disposeLater(Duration.ZERO, Duration.ofSeconds(5)).block(Duration.ofSeconds(30));
        }
    }

    private interface ClientTest {
        void run(HttpClient client) throws Exception;
    }

    @ParameterizedTest(name = "{1} on {0}")
    @MethodSource("bodies")
    void oneSegment(String transport, String name, int length, Publisher<ByteBuf> body) throws Exception {
        with(transport, stock -> {
            HttpClient client = OnewriteReactorNetty.create().apply(stock);
            assertEquals(1, segments(client, length, body), name);
        });
    }

    /** Reactor Netty puts its chunked writer below our handler, on the first such request of a connection. */
    @ParameterizedTest
    @ValueSource(strings = {"nio", "epoll"})
    void aMultipartForm(String transport) throws Exception {
        with(transport, stock -> {
            HttpClient client = OnewriteReactorNetty.create().apply(stock);
            try (SegmentServer server = new SegmentServer()) {
                for (int i = 0; i < REQUESTS; i++) {
                    Integer status = client.post()
                            .uri(server.url())
                            .sendForm((request, form) -> form.multipart(true)
                                    .attr("tea", "green")
                                    .file("leaf", "leaf.txt", new ByteArrayInputStream(new byte[200]), "text/plain"))
                            .responseSingle((response, content) -> content.asByteArray()
                                    .then(Mono.just(response.status().code())))
                            .block(Duration.ofSeconds(30));
                    assertEquals(200, status);
                    // The handlers are in order for a request of another kind, too.
                    assertEquals(200, post(client, server.url(), -1, flux("a", "b")));
                }
                assertEquals(2 * REQUESTS, server.segments().size());
                long single =
                        server.segments().stream().filter(count -> count == 1).count();
                assertTrue(single > 1.5 * REQUESTS, server.segments()::toString);
            }
        });
    }

    @ParameterizedTest
    @ValueSource(strings = {"nio", "epoll"})
    void aLargeBodyIsSentAsItIs(String transport) throws Exception {
        String large = "x".repeat(3_000_000);
        Path file = Files.writeString(dir.resolve("large"), large);
        with(transport, stock -> {
            HttpClient client = OnewriteReactorNetty.create().apply(stock);
            try (TestServer server = TestServer.answering()) {
                assertEquals(200, post(client, server.url(), -1, Mono.fromSupplier(() -> buffer(large))));
                assertEquals(200, post(client, server.url(), large.length(), flux(large)));
                client.headers(headers -> headers.set("content-length", large.length()))
                        .post()
                        .uri(server.url())
                        .send((request, outbound) -> outbound.sendFile(file))
                        .responseContent()
                        .then()
                        .block(Duration.ofSeconds(30));
                assertEquals(3, server.requests().size());
                assertTrue(server.requests().stream()
                        .allMatch(request -> Arrays.equals(request.body(), large.getBytes(StandardCharsets.US_ASCII))));
            }
        });
    }

    /** The controls: a Flux is split by the stock client, and with observe. */
    @Test
    void stockAndSwitchedOff() throws Exception {
        with("epoll", stock -> {
            assertTrue(segments(stock, -1, flux(SMALL)) > 1, "if Reactor Netty joins these now, retire the joining");
            OnewriteConfig observe = OnewriteConfig.defaults().withObserve(true);
            HttpClient client = OnewriteReactorNetty.create().config(observe).apply(stock);
            assertTrue(segments(client, -1, flux(SMALL)) > 1);
            OnewriteConfig off = OnewriteConfig.defaults().withDisabled(true);
            assertSame(stock, OnewriteReactorNetty.create().config(off).apply(stock));
        });
    }

    /** A channel initializer that switches the option off is overruled: only the client's options count. */
    @Test
    void nodelayIsSetWhereAnInitializerLostIt() throws Exception {
        for (boolean observe : new boolean[] {true, false}) {
            OnewriteConfig config = OnewriteConfig.defaults().withObserve(observe);
            List<Boolean> nodelay = new CopyOnWriteArrayList<>();
            try (TestServer server = TestServer.answering()) {
                HttpClient losing = HttpClient.newConnection()
                        .doOnChannelInit((observer, channel, remote) ->
                                channel.config().setOption(ChannelOption.TCP_NODELAY, false))
                        .doOnRequest((request, connection) ->
                                nodelay.add(connection.channel().config().getOption(ChannelOption.TCP_NODELAY)));
                HttpClient client = OnewriteReactorNetty.create().config(config).apply(losing);
                assertEquals(200, post(client, server.url(), -1, flux("a")));
            }
            assertEquals(List.of(!observe), nodelay);
        }
    }

    /** Backpressure stays: a source is not asked for more while the server does not read. */
    @Test
    void backpressure() throws Exception {
        int blocks = 8192;
        AtomicInteger published = new AtomicInteger();
        CompletableFuture<Void> mayRead = new CompletableFuture<>();
        try (TestServer server = new TestServer(connection -> {
            Eventually.of(mayRead);
            connection.drain();
        })) {
            HttpClient client = OnewriteReactorNetty.create().apply(HttpClient.newConnection());
            Flux<ByteBuf> source = Flux.range(0, blocks).map(i -> {
                published.incrementAndGet();
                return Unpooled.wrappedBuffer(new byte[64 * 1024]);
            });
            var call = client.post().uri(server.url()).send(source).response().subscribe(response -> {}, error -> {});
            int before = -1;
            while (published.get() == 0 || published.get() != before) {
                before = published.get();
                Thread.sleep(300);
            }
            assertTrue(before < blocks / 2, () -> "published " + published.get() + " blocks of 64 KiB to nobody");
            call.dispose();
            mayRead.complete(null);
        }
    }

    /** A write that fails is answered as such: the server gets no end of the request that the caller did not send. */
    @Test
    void aChunkThatCannotBeEncoded() throws Exception {
        List<String> ends = new ArrayList<>();
        for (boolean onewrite : new boolean[] {false, true}) {
            CompletableFuture<String> received = new CompletableFuture<>();
            try (TestServer server = new TestServer(connection -> {
                connection.readHead();
                received.complete(new String(connection.in().readAllBytes(), StandardCharsets.US_ASCII));
            })) {
                HttpClient stock = HttpClient.newConnection();
                HttpClient client = onewrite ? OnewriteReactorNetty.create().apply(stock) : stock;
                ByteBuf released = buffer("x");
                released.release();
                Throwable thrown = assertThrows(
                        Exception.class,
                        () -> post(client, server.url(), -1, Flux.just(buffer("one"), released, buffer("two"))));
                ends.add(thrown.getClass().getName() + Eventually.of(received).endsWith("0\r\n\r\n"));
            }
        }
        assertEquals(ends.get(0), ends.get(1));
    }

    /** A pooled connection that the server resets: the exception is that of Reactor Netty, not of the socket. */
    @Test
    void aResetConnection() throws Exception {
        List<Class<?>> thrown = new ArrayList<>();
        for (boolean onewrite : new boolean[] {false, true}) {
            CountDownLatch writes = new CountDownLatch(1);
            CountDownLatch reset = new CountDownLatch(1);
            try (TestServer server = new TestServer(connection -> {
                connection.readHead();
                connection.send(TestServer.OK);
                assertTrue(writes.await(30, TimeUnit.SECONDS));
                connection.reset();
                reset.countDown();
            })) {
                with("nio", stock -> {
                    // On the event loop: it does not read the reset before it writes.
                    HttpClient pooled = stock.disableRetry(true).doOnRequest((request, connection) -> {
                        if (request.method().name().equals("POST")) {
                            writes.countDown();
                            assertDoesNotThrow(() -> assertTrue(reset.await(30, TimeUnit.SECONDS)));
                        }
                    });
                    HttpClient client = onewrite ? OnewriteReactorNetty.create().apply(pooled) : pooled;
                    client.get().uri(server.url()).responseContent().then().block(Duration.ofSeconds(30));
                    Exception e =
                            assertThrows(Exception.class, () -> post(client, server.url(), -1, flux("a", SMALL, "b")));
                    thrown.add(Exceptions.unwrap(e).getClass());
                });
            }
        }
        assertEquals(thrown.get(0), thrown.get(1));
    }
}
