package io.github.onewrite.netty;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.onewrite.ErrorKind;
import io.github.onewrite.OnewriteException;
import io.github.onewrite.Timing;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What a pool has to get right, point by point, on real sockets. */
class PoolTest {

    private static Request get(TestServer server) {
        return Request.get(server.url()).build();
    }

    private static void until(BooleanSupplier condition) throws InterruptedException {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(10);
        while (!condition.getAsBoolean()) {
            assertTrue(System.nanoTime() < end, "waited 10 s in vain");
            Thread.sleep(2);
        }
    }

    private static OnewriteException failure(CompletableFuture<?> future) {
        ExecutionException thrown = assertThrows(ExecutionException.class, () -> future.get(10, TimeUnit.SECONDS));
        return (OnewriteException) thrown.getCause();
    }

    /** 10: the connection is back before the caller hears of the response. */
    @Test
    void aSequentialCallerOpensOneConnection() throws Exception {
        try (TestServer server = TestServer.answering();
                OnewriteClient client = OnewriteClient.create()) {
            for (int i = 0; i < 200; i++) {
                client.execute(get(server));
            }
            assertEquals(1, server.connections());
        }
    }

    /** 1 and 2: never more connections than allowed; who waits is served first come, first served. */
    @ParameterizedTest
    @ValueSource(ints = {1, 2})
    void capAndOrder(int cap) throws Exception {
        CountDownLatch go = new CountDownLatch(1);
        try (TestServer server = new TestServer(connection -> {
                    while (true) {
                        connection.read();
                        go.await();
                        connection.send(TestServer.OK);
                    }
                });
                OnewriteClient client =
                        OnewriteClient.builder().maxConnectionsPerOrigin(cap).build()) {
            List<Integer> order = new CopyOnWriteArrayList<>();
            List<CompletableFuture<?>> all = new ArrayList<>();
            for (int i = 0; i < 10; i++) {
                int number = i;
                all.add(client.send(get(server)).thenRun(() -> order.add(number)));
            }
            until(() -> client.stats().pending() == 10 - cap && client.stats().active() == cap);
            go.countDown();
            CompletableFuture.allOf(all.toArray(CompletableFuture[]::new)).get(10, TimeUnit.SECONDS);
            assertEquals(cap, server.connections());
            // With two connections one may answer faster than the other; with one the order is the order.
            if (cap == 1) {
                assertEquals(List.of(0, 1, 2, 3, 4, 5, 6, 7, 8, 9), order);
            }
        }
    }

    /** 2: the queue has an end, and says so. */
    @Test
    void theQueueIsBounded() throws Exception {
        try (TestServer server = new TestServer(connection -> connection.drain());
                OnewriteClient client = OnewriteClient.builder()
                        .maxConnectionsPerOrigin(1)
                        .maxPendingPerOrigin(1)
                        .build()) {
            client.send(get(server));
            client.send(get(server));
            until(() -> client.stats().pending() == 1);
            OnewriteException why = failure(client.send(get(server)));
            assertEquals(ErrorKind.POOL, why.kind());
            assertTrue(why.getMessage().contains("maxConnectionsPerOrigin"), why.getMessage());
            client.close(Duration.ZERO);
        }
    }

    /** 2: a waiter has a deadline, and can leave. */
    @Test
    void waitersTimeOutAndLeave() throws Exception {
        try (TestServer server = new TestServer(connection -> connection.drain());
                OnewriteClient client = OnewriteClient.builder()
                        .maxConnectionsPerOrigin(1)
                        .queueTimeout(Duration.ofMillis(80))
                        .build()) {
            CompletableFuture<Response> holder = client.send(get(server));
            until(() -> client.stats().active() == 1);
            OnewriteException why = failure(client.send(get(server)));
            assertEquals(ErrorKind.POOL, why.kind());
            assertEquals("queue", why.phase().orElseThrow().canonicalName());
            CompletableFuture<Response> leaving = client.send(get(server));
            until(() -> client.stats().pending() == 1);
            leaving.cancel(true);
            until(() -> client.stats().pending() == 0);
            holder.cancel(true);
        }
    }

    /** 3: last in, first out, so that what is not needed grows old. */
    @Test
    void theYoungestIdleConnectionIsUsed() throws Exception {
        List<Timing> timings = new CopyOnWriteArrayList<>();
        try (TestServer server = TestServer.answering();
                OnewriteClient client =
                        OnewriteClient.builder().onTiming(timings::add).build()) {
            CompletableFuture.allOf(client.send(get(server)), client.send(get(server)), client.send(get(server)))
                    .get(10, TimeUnit.SECONDS);
            long last = timings.get(timings.size() - 1).connId().orElseThrow();
            for (int i = 0; i < 3; i++) {
                client.execute(get(server));
                assertEquals(last, timings.get(timings.size() - 1).connId().orElseThrow());
            }
        }
    }

    /** 4: an idle connection is closed by us, in time. */
    @Test
    void idleConnectionsAreEvicted() throws Exception {
        try (TestServer server = TestServer.answering();
                OnewriteClient client = OnewriteClient.builder()
                        .idleLimit(Duration.ofMillis(100))
                        .build()) {
            client.execute(get(server));
            assertEquals(1, client.stats().idle());
            until(() -> client.stats().idle() == 0);
            client.execute(get(server));
            assertEquals(2, server.connections());
        }
    }

    /** 4: a server that says how long it keeps a connection is believed. */
    @Test
    void keepAliveTimeoutIsHonoured() throws Exception {
        try (TestServer server = new TestServer(connection -> {
                    while (true) {
                        connection.read();
                        connection.send("HTTP/1.1 200 OK\r\nKeep-Alive: timeout=1\r\nContent-Length: 0\r\n\r\n");
                    }
                });
                OnewriteClient client = OnewriteClient.create()) {
            client.execute(get(server));
            until(() -> client.stats().idle() == 0);
        }
    }

    /** 5: a connection has a lifetime, however busy it is. */
    @Test
    void lifetime() throws Exception {
        try (TestServer server = TestServer.answering();
                OnewriteClient client = OnewriteClient.builder()
                        .maxLifetime(Duration.ofMillis(150))
                        .build()) {
            long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(600);
            while (System.nanoTime() < end) {
                client.execute(get(server));
                Thread.sleep(5);
            }
            assertTrue(server.connections() >= 3, () -> "connections: " + server.connections());
        }
    }

    /** 6: FIN, RST and any byte on an idle connection evict it. */
    @Test
    void whatHappensToAnIdleConnectionEndsIt() throws Exception {
        for (String what : List.of("fin", "rst", "byte", "response")) {
            try (TestServer server = new TestServer(connection -> {
                        if (connection.number() > 1) {
                            while (true) {
                                connection.read();
                                connection.send(TestServer.OK);
                            }
                        }
                        connection.read();
                        connection.send(TestServer.OK);
                        Thread.sleep(50);
                        switch (what) {
                            case "fin" -> {}
                            case "rst" -> connection.reset();
                            case "byte" -> {
                                connection.send("x");
                                connection.drain();
                            }
                            default -> {
                                connection.send("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison");
                                connection.drain();
                            }
                        }
                    });
                    OnewriteClient client = OnewriteClient.create()) {
                client.execute(get(server));
                until(() -> client.stats().idle() == 0);
                assertEquals("ok", client.execute(get(server)).text(), what);
                assertEquals(2, server.connections(), what);
            }
        }
    }

    /** 6: bytes that come in one piece with the response spoil the connection just as well. */
    @Test
    void bytesBehindTheResponseEndTheConnection() throws Exception {
        for (String tail : List.of("GARB", "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison")) {
            try (TestServer server = new TestServer(connection -> {
                        while (true) {
                            connection.read();
                            connection.send(TestServer.OK + tail);
                        }
                    });
                    OnewriteClient client =
                            OnewriteClient.builder().maxConnectionsPerOrigin(1).build()) {
                // Two at once: the second waits, and must not be handed the spoiled connection.
                CompletableFuture<Response> first = client.send(get(server));
                CompletableFuture<Response> second = client.send(get(server));
                assertEquals("ok", first.get(10, TimeUnit.SECONDS).text());
                assertEquals("ok", second.get(10, TimeUnit.SECONDS).text());
                assertEquals(2, server.connections());
            }
        }
    }

    /** 8: what must not be used again is closed. */
    @Test
    void connectionsThatMustNotBeReusedAreClosed() throws Exception {
        for (String answer : List.of(
                "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
                "HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n")) {
            try (TestServer server = new TestServer(connection -> {
                        while (true) {
                            connection.read();
                            connection.send(answer);
                        }
                    });
                    OnewriteClient client = OnewriteClient.create()) {
                client.execute(get(server));
                client.execute(get(server));
                assertEquals(2, server.connections(), answer);
            }
        }
    }

    /** 8: neither is one whose call was cancelled. */
    @Test
    void aCancelledCallClosesItsConnection() throws Exception {
        CountDownLatch closed = new CountDownLatch(1);
        try (TestServer server = new TestServer(connection -> {
                    connection.read();
                    connection.drain();
                    closed.countDown();
                });
                OnewriteClient client = OnewriteClient.create()) {
            CompletableFuture<Response> call = client.send(get(server));
            until(() -> server.requests().size() == 1);
            call.cancel(true);
            assertTrue(closed.await(10, TimeUnit.SECONDS));
            until(() -> client.stats().active() == 0);
        }
    }

    /** 8: nor one on which a body was not fully sent. */
    @Test
    void anEarlyAnswerIsHeardAndTheConnectionClosed() throws Exception {
        try (TestServer server = new TestServer(connection -> {
                    connection.readHead();
                    connection.send("HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n");
                    connection.drain();
                });
                OnewriteClient client = OnewriteClient.create()) {
            Response response = client.execute(Request.post(
                            server.url(),
                            Body.ofPublisher(Publishers.endless(new java.util.concurrent.atomic.AtomicInteger())))
                    .build());
            assertEquals(413, response.status());
            until(() -> client.stats().active() == 0);
            assertEquals(0, client.stats().idle());
        }
    }

    /** 9: a connection that is ready after its call has left serves the next one. */
    @Test
    void aConnectionOutlivesTheCallItWasMadeFor() throws Exception {
        CountDownLatch resolve = new CountDownLatch(1);
        try (TestServer server = TestServer.answering();
                OnewriteClient client = OnewriteClient.builder()
                        .maxConnectionsPerOrigin(1)
                        .resolver(host -> {
                            try {
                                resolve.await();
                            } catch (InterruptedException e) {
                                throw new IllegalStateException(e);
                            }
                            return List.of(InetAddress.getLoopbackAddress());
                        })
                        .build()) {
            String url = "http://somewhere.test:" + server.port() + "/";
            CompletableFuture<Response> leaves = client.send(Request.get(url).build());
            CompletableFuture<Response> stays = client.send(Request.get(url).build());
            until(() -> client.stats().pending() == 1);
            leaves.cancel(true);
            resolve.countDown();
            assertEquals(200, stays.get(10, TimeUnit.SECONDS).status());
            assertEquals(1, server.connections());
        }
    }

    /** 11: a failed connect fails the call it was made for; the next tries again. */
    @Test
    void aFailedConnectFailsOneCall() throws Exception {
        int port;
        try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            port = taken.getLocalPort();
        }
        try (OnewriteClient client =
                OnewriteClient.builder().maxConnectionsPerOrigin(1).build()) {
            Request request = Request.get("http://127.0.0.1:" + port + "/").build();
            CompletableFuture<Response> first = client.send(request);
            CompletableFuture<Response> second = client.send(request);
            assertEquals(ErrorKind.CONNECT, failure(first).kind());
            assertEquals(ErrorKind.CONNECT, failure(second).kind());
            assertNotEquals(failure(first), failure(second));
            assertEquals(new PoolStats(0, 0, 0, 0, 0), client.stats());
        }
    }

    /** 12: closing lets calls under way finish, and lets nothing in. */
    @Test
    void closeDrains() throws Exception {
        CountDownLatch answer = new CountDownLatch(1);
        try (TestServer server = new TestServer(connection -> {
            connection.read();
            answer.await();
            connection.send(TestServer.OK);
            connection.drain();
        })) {
            OnewriteClient client =
                    OnewriteClient.builder().maxConnectionsPerOrigin(1).build();
            CompletableFuture<Response> under = client.send(get(server));
            CompletableFuture<Response> waiting = client.send(get(server));
            until(() -> server.requests().size() == 1 && client.stats().pending() == 1);
            CompletableFuture<Void> closing = CompletableFuture.runAsync(client::close);
            assertEquals(ErrorKind.POOL, failure(waiting).kind());
            answer.countDown();
            assertEquals(200, under.get(10, TimeUnit.SECONDS).status());
            closing.get(10, TimeUnit.SECONDS);
            assertEquals(ErrorKind.POOL, failure(client.send(get(server))).kind());
        }
    }

    /** 14: origins do not share connections. */
    @Test
    void originsAreApart() throws Exception {
        try (TestServer server = TestServer.answering();
                OnewriteClient client = OnewriteClient.create()) {
            client.execute(get(server));
            client.execute(
                    Request.get("http://localhost:" + server.port() + "/").build());
            assertEquals(2, server.connections());
            assertEquals(2, client.statsByOrigin().size());
        }
    }

    /** 15: counters. */
    @Test
    void counters() throws Exception {
        try (TestServer server = TestServer.answering();
                OnewriteClient client =
                        OnewriteClient.builder().loopsPerOrigin(2).eventLoops(2).build()) {
            for (int i = 0; i < 4; i++) {
                client.execute(get(server));
            }
            assertEquals(new PoolStats(0, 2, 0, 0, 2), client.stats());
        }
    }

    /** 7: a channel that cannot have TCP_NODELAY is refused before a byte is sent. */
    @Test
    void aChannelWithoutNodelayIsRefused() throws Exception {
        try (TestServer server = TestServer.answering();
                OnewriteClient client = OnewriteClient.builder()
                        .eventLoopGroup(Transport.nio(1).group(), StubbornChannel::new)
                        .build()) {
            OnewriteException why = failure(client.send(get(server)));
            assertEquals(ErrorKind.CONNECT, why.kind());
            assertTrue(why.getMessage().contains("TCP_NODELAY"), why.getMessage());
            assertEquals(0, server.requests().size());
        }
    }

    /** A half-open listener: connects are accepted by the kernel, never by the program. */
    @Test
    void connectTimeoutCoversTheHandshake() throws Exception {
        try (ServerSocket silent = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
                OnewriteClient client = OnewriteClient.builder()
                        .connectTimeout(Duration.ofMillis(150))
                        .build()) {
            OnewriteException why = failure(client.send(Request.get("https://127.0.0.1:" + silent.getLocalPort() + "/")
                    .build()));
            assertEquals(ErrorKind.TIMEOUT, why.kind());
            assertEquals("tls", why.phase().orElseThrow().canonicalName());
            try (Socket accepted = silent.accept()) {
                assertTrue(accepted.isConnected());
            }
        }
    }
}
