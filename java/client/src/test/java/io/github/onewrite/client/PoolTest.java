package io.github.onewrite.client;

import static io.github.onewrite.testing.Eventually.failure;
import static io.github.onewrite.testing.Eventually.until;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.onewrite.ErrorKind;
import io.github.onewrite.OnewriteException;
import io.github.onewrite.Timing;
import io.github.onewrite.client.internal.Lookups;
import io.github.onewrite.client.internal.Origin;
import io.github.onewrite.client.internal.Timekeeper;
import io.github.onewrite.client.internal.Transport;
import io.github.onewrite.testing.Eventually;
import io.github.onewrite.testing.StubbornChannel;
import io.github.onewrite.testing.TestServer;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.netty.handler.ssl.SslContextBuilder;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.SocketTimeoutException;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The pool's fifteen rules, on real sockets and with a fake clock. */
class PoolTest {
    private final FakeTime time = new FakeTime();

    private static Request get(TestServer server) {
        return Request.get(server.url()).build();
    }

    private static long connectionOf(List<Timing> timings, int index) {
        return timings.get(index).connId().orElseThrow();
    }

    @ParameterizedTest(name = "{0} connections")
    @ValueSource(ints = {1, 2, 5})
    void point01NeverMoreConnectionsThanTheCap(int cap) throws Exception {
        CountDownLatch go = new CountDownLatch(1);
        try (TestServer server = TestServer.answeringAfter(go, TestServer.OK);
                OnewriteClient client =
                        OnewriteClient.builder().maxConnectionsPerOrigin(cap).build()) {
            List<CompletableFuture<?>> all = new ArrayList<>();
            for (int i = 0; i < 10; i++) {
                all.add(client.send(get(server)));
            }
            until(() -> client.stats().pending() == 10 - cap && client.stats().active() == cap);
            go.countDown();
            Eventually.of(CompletableFuture.allOf(all.toArray(CompletableFuture[]::new)));
            assertEquals(cap, server.connections());
        }
    }

    @Test
    void point02WaitersAreServedFirstComeFirstServed() throws Exception {
        CountDownLatch go = new CountDownLatch(1);
        try (TestServer server = TestServer.answeringAfter(go, TestServer.OK);
                OnewriteClient client =
                        OnewriteClient.builder().maxConnectionsPerOrigin(1).build()) {
            List<Integer> order = new CopyOnWriteArrayList<>();
            List<CompletableFuture<?>> all = new ArrayList<>();
            for (int i = 0; i < 10; i++) {
                int number = i;
                all.add(client.send(get(server)).thenRun(() -> order.add(number)));
            }
            until(() -> client.stats().pending() == 9);
            go.countDown();
            Eventually.of(CompletableFuture.allOf(all.toArray(CompletableFuture[]::new)));
            assertEquals(List.of(0, 1, 2, 3, 4, 5, 6, 7, 8, 9), order);
        }
    }

    @Test
    void point02TheQueueIsBounded() throws Exception {
        try (TestServer server = TestServer.silent();
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

    @Test
    void point02AWaiterHasADeadlineAndCanLeave() throws Exception {
        try (TestServer server = TestServer.silent();
                OnewriteClient client = OnewriteClient.builder()
                        .time(time)
                        .maxConnectionsPerOrigin(1)
                        .queueTimeout(Duration.ofSeconds(7))
                        .build()) {
            CompletableFuture<Response> holder = client.send(get(server));
            until(() -> client.stats().active() == 1);
            CompletableFuture<Response> waiting = client.send(get(server));
            until(() -> client.stats().pending() == 1);
            time.advance(Duration.ofMillis(6_999));
            assertFalse(waiting.isDone());
            time.advance(Duration.ofMillis(1));
            OnewriteException why = failure(waiting);
            assertEquals(ErrorKind.POOL, why.kind());
            assertEquals("queue", why.phase().orElseThrow().canonicalName());
            CompletableFuture<Response> leaving = client.send(get(server));
            until(() -> client.stats().pending() == 1);
            leaving.cancel(true);
            until(() -> client.stats().pending() == 0);
            assertFalse(holder.isDone(), "who waits does not disturb who has a connection");
            holder.cancel(true);
        }
    }

    @Test
    void point03TheYoungestIdleConnectionIsUsed() throws Exception {
        List<Timing> timings = new CopyOnWriteArrayList<>();
        try (TestServer server = TestServer.answering();
                OnewriteClient client =
                        OnewriteClient.builder().onTiming(timings::add).build()) {
            Eventually.of(CompletableFuture.allOf(
                    client.send(get(server)), client.send(get(server)), client.send(get(server))));
            long last = connectionOf(timings, 2);
            for (int i = 3; i < 6; i++) {
                client.execute(get(server));
                assertEquals(last, connectionOf(timings, i));
            }
        }
    }

    @Test
    void point04AnIdleConnectionIsClosedWhenItsTimeIsOver() throws Exception {
        try (TestServer server = TestServer.answering();
                OnewriteClient client = OnewriteClient.builder()
                        .time(time)
                        .idleLimit(Duration.ofSeconds(20))
                        .build()) {
            client.execute(get(server));
            time.advance(Duration.ofSeconds(15));
            client.execute(get(server));
            time.advance(Duration.ofSeconds(15));
            assertEquals(1, client.stats().idle(), "used 15 s ago");
            time.advance(Duration.ofSeconds(5));
            assertEquals(0, client.stats().idle());
            client.execute(get(server));
            assertEquals(2, server.connections());
        }
    }

    /** Keep-Alive: timeout=N (RFC 2068, 19.7.1.1): the connection is closed a second earlier, others are not. */
    @Test
    void point04AServersKeepAliveTimeIsHonoured() throws Exception {
        try (TestServer patient = TestServer.answering();
                TestServer server = TestServer.answering(
                        "HTTP/1.1 200 OK\r\nKeep-Alive: timeout=5, max=9\r\nContent-Length: 0\r\n\r\n");
                OnewriteClient client = OnewriteClient.builder()
                        .time(time)
                        .idleLimit(Duration.ofSeconds(20))
                        .build()) {
            client.execute(get(patient));
            client.execute(get(server));
            time.advance(Duration.ofMillis(3_999));
            assertEquals(2, client.stats().idle());
            time.advance(Duration.ofMillis(1));
            assertEquals(1, client.stats().idle());
        }
    }

    /** Spaces and quotes (RFC 9110, 5.6.6), several fields, and a client without a limit of its own. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "Keep-Alive: timeout=5",
                "Keep-Alive: max=9,timeout = 5",
                "Keep-Alive: timeout=\"5\", max=9",
                "Keep-Alive: max=9\r\nkeep-alive: TIMEOUT=5"
            })
    void point04AServersKeepAliveTimeIsHonouredWithoutAnIdleLimit(String fields) throws Exception {
        try (TestServer server =
                        TestServer.answering("HTTP/1.1 200 OK\r\n" + fields + "\r\nContent-Length: 0\r\n\r\n");
                OnewriteClient client = OnewriteClient.builder()
                        .time(time)
                        .idleLimit(Duration.ZERO)
                        .build()) {
            client.execute(get(server));
            time.advance(Duration.ofMillis(3_999));
            assertEquals(1, client.stats().idle());
            time.advance(Duration.ofMillis(1));
            assertEquals(0, client.stats().idle());
        }
    }

    @Test
    void point05AConnectionHasALifetimeHoweverBusyItIs() throws Exception {
        try (TestServer server = TestServer.answering();
                OnewriteClient client = OnewriteClient.builder()
                        .time(time)
                        .maxLifetime(Duration.ofSeconds(100))
                        .build()) {
            for (int second = 0; second < 250; second += 5) {
                client.execute(get(server));
                time.advance(Duration.ofSeconds(5));
            }
            assertEquals(3, server.connections());
        }
    }

    /** Connections that were opened together are not all closed together. */
    @Test
    void point05TheLifetimeHasJitter() throws Exception {
        int count = 20;
        CountDownLatch go = new CountDownLatch(1);
        try (TestServer server = TestServer.answeringAfter(go, TestServer.OK);
                OnewriteClient client = OnewriteClient.builder()
                        .time(time)
                        .idleLimit(Duration.ZERO)
                        .maxLifetime(Duration.ofSeconds(100))
                        .build()) {
            List<CompletableFuture<?>> all = new ArrayList<>();
            for (int i = 0; i < count; i++) {
                all.add(client.send(get(server)));
            }
            until(() -> server.requests().size() == count);
            go.countDown();
            Eventually.of(CompletableFuture.allOf(all.toArray(CompletableFuture[]::new)));
            time.advance(Duration.ofMillis(89_999));
            assertEquals(count, client.stats().idle());
            TreeSet<Integer> left = new TreeSet<>();
            for (int i = 0; i < 11; i++) {
                time.advance(Duration.ofSeconds(1));
                left.add(client.stats().idle());
            }
            assertEquals(0, left.first());
            assertTrue(left.size() > 2, () -> "connections left, second by second: " + left);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"fin", "rst", "byte", "response"})
    void point06WhateverComesOnAnIdleConnectionEndsIt(String what) throws Exception {
        CountDownLatch idle = new CountDownLatch(1);
        try (TestServer server = new TestServer(connection -> {
                    if (connection.number() > 1) {
                        connection.answerAll(TestServer.OK);
                    }
                    connection.read();
                    connection.send(TestServer.OK);
                    idle.await();
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
            assertEquals(1, client.stats().idle());
            idle.countDown();
            until(() -> client.stats().idle() == 0);
            assertEquals("ok", client.execute(get(server)).text());
            assertEquals(2, server.connections());
        }
    }

    /** Extra bytes in the same segment as the response end the connection, too. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "GARB",
                "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison",
                "HTTP/1.1 200 OK\r\n",
                "HTTP/1.1 100 Continue\r\n\r\n",
                "\r\n",
                "\n",
                "\0"
            })
    void point06BytesBehindTheResponseEndTheConnection(String tail) throws Exception {
        try (TestServer server = TestServer.answering(TestServer.OK + tail);
                OnewriteClient client =
                        OnewriteClient.builder().maxConnectionsPerOrigin(1).build()) {
            // Two at once: the second waits, and must not get that connection.
            CompletableFuture<Response> first = client.send(get(server));
            CompletableFuture<Response> second = client.send(get(server));
            assertEquals("ok", Eventually.of(first).text());
            assertEquals("ok", Eventually.of(second).text());
            assertEquals(2, server.connections());
        }
    }

    @Test
    void point07AChannelWithoutNodelayIsRefusedBeforeAByteIsSent() throws Exception {
        Transport transport = Transport.nio(1);
        try (TestServer server = TestServer.answering();
                OnewriteClient client = OnewriteClient.builder()
                        .eventLoopGroup(transport.group(), StubbornChannel::new)
                        .build()) {
            OnewriteException why = failure(client.send(get(server)));
            assertEquals(ErrorKind.CONNECT, why.kind());
            assertTrue(why.getMessage().contains("TCP_NODELAY"), why.getMessage());
            assertEquals(0, server.requests().size());
        } finally {
            transport.group().shutdownGracefully();
        }
    }

    /** Expired, but not yet closed by the sweep: the lease checks by itself. */
    @Test
    void point07AConnectionIsLookedAtWhenItIsLeased() throws Exception {
        FakeTime still = new FakeTime();
        AtomicInteger skipped = new AtomicInteger();
        Timekeeper withoutSweeps = new Timekeeper() {
            @Override
            public long nanoTime() {
                return still.nanoTime();
            }

            @Override
            public java.util.concurrent.Future<?> after(long nanos, io.netty.channel.EventLoop loop, Runnable task) {
                skipped.incrementAndGet();
                return new CompletableFuture<>();
            }
        };
        try (TestServer server = TestServer.answering();
                OnewriteClient client = OnewriteClient.builder()
                        .time(withoutSweeps)
                        .idleLimit(Duration.ofSeconds(20))
                        .build()) {
            client.execute(get(server));
            still.advance(Duration.ofSeconds(21));
            assertEquals(1, client.stats().idle());
            client.execute(get(server));
            assertEquals(2, server.connections());
            assertTrue(skipped.get() > 0);
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
                "HTTP/1.1 200 OK\r\nConnection: x, Close\r\nContent-Length: 0\r\n\r\n",
                "HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n"
            })
    void point08AResponseThatEndsTheConnectionIsHonoured(String answer) throws Exception {
        try (TestServer server = TestServer.answering(answer);
                OnewriteClient client = OnewriteClient.create()) {
            client.execute(get(server));
            client.execute(get(server));
            assertEquals(2, server.connections());
        }
    }

    @Test
    void point08ARequestThatEndsTheConnectionIsHonoured() throws Exception {
        try (TestServer server = TestServer.answering();
                OnewriteClient client = OnewriteClient.create()) {
            client.execute(Request.get(server.url()).header("Connection", "close"));
            assertEquals(0, client.stats().idle());
            client.execute(get(server));
            assertEquals(2, server.connections());
        }
    }

    @Test
    void point08ABodyThatWasNotReadEndsTheConnection() throws Exception {
        try (TestServer server = TestServer.answering("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf");
                OnewriteClient client = OnewriteClient.create()) {
            Eventually.of(client.stream(get(server))).close();
            until(() -> client.stats().equals(new PoolStats(0, 0, 0, 0, 1)));
        }
    }

    @Test
    void point08ACancelledCallClosesItsConnection() throws Exception {
        try (TestServer server = TestServer.silent();
                OnewriteClient client = OnewriteClient.create()) {
            CompletableFuture<Response> call = client.send(get(server));
            until(() -> server.requests().size() == 1);
            call.cancel(true);
            until(() -> server.closed() == 1 && client.stats().active() == 0);
            assertEquals(0, client.stats().idle());
        }
    }

    @Test
    void point08AnEarlyAnswerIsHeardAndTheUnfinishedRequestEndsTheConnection() throws Exception {
        try (TestServer server = new TestServer(connection -> {
                    connection.readHead();
                    connection.send("HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n");
                    connection.drain();
                });
                OnewriteClient client = OnewriteClient.create()) {
            Response response = client.execute(
                    Request.post(server.url(), Body.ofPublisher(Publishers.endless(new AtomicInteger()))));
            assertEquals(413, response.status());
            until(() -> client.stats().active() == 0);
            assertEquals(0, client.stats().idle());
        }
    }

    @Test
    void point09AConnectionWhoseCallHasLeftServesTheNextWaiter() throws Exception {
        CountDownLatch resolve = new CountDownLatch(1);
        try (TestServer server = TestServer.answering();
                OnewriteClient client = OnewriteClient.builder()
                        .maxConnectionsPerOrigin(1)
                        .resolver(host -> List.of(after(resolve)))
                        .build()) {
            String url = "http://somewhere.test:" + server.port() + "/";
            CompletableFuture<Response> leaves = client.send(Request.get(url).build());
            CompletableFuture<Response> stays = client.send(Request.get(url).build());
            until(() -> client.stats().pending() == 1);
            leaves.cancel(true);
            resolve.countDown();
            assertEquals(200, Eventually.of(stays).status());
            assertEquals(1, server.connections());
        }
    }

    /** The connection is back before the caller hears of the response. */
    @Test
    void point10ASequentialCallerOpensOneConnection() throws Exception {
        try (TestServer server = TestServer.answering();
                OnewriteClient client = OnewriteClient.create()) {
            for (int i = 0; i < 200; i++) {
                client.execute(get(server));
            }
            assertEquals(1, server.connections());
        }
    }

    @Test
    void point11AFailedConnectFailsTheOneCallItWasMadeFor() throws Exception {
        AtomicInteger lookups = new AtomicInteger();
        CountDownLatch both = new CountDownLatch(1);
        try (TestServer server = TestServer.answering();
                OnewriteClient client = OnewriteClient.builder()
                        .maxConnectionsPerOrigin(1)
                        .resolver(host -> {
                            InetAddress found = after(both);
                            if (lookups.getAndIncrement() == 0) {
                                throw new java.net.UnknownHostException("from the test: not yet");
                            }
                            return List.of(found);
                        })
                        .build()) {
            Request request =
                    Request.get("http://somewhere.test:" + server.port() + "/").build();
            CompletableFuture<Response> first = client.send(request);
            CompletableFuture<Response> second = client.send(request);
            until(() -> client.stats().pending() == 1);
            both.countDown();
            assertEquals(ErrorKind.DNS, failure(first).kind());
            assertEquals(200, Eventually.of(second).status());

            Request refused = Request.get("http://127.0.0.1:" + TestServer.unusedPort() + "/")
                    .build();
            CompletableFuture<Response> third = client.send(refused);
            CompletableFuture<Response> fourth = client.send(refused);
            assertEquals(ErrorKind.CONNECT, failure(third).kind());
            assertEquals(ErrorKind.CONNECT, failure(fourth).kind());
            assertNotSame(failure(third), failure(fourth));
        }
    }

    @Test
    void point12CloseLetsCallsFinishAndLetsNothingIn() throws Exception {
        CountDownLatch answer = new CountDownLatch(1);
        try (TestServer server = TestServer.answeringAfter(answer, TestServer.OK)) {
            OnewriteClient client =
                    OnewriteClient.builder().maxConnectionsPerOrigin(1).build();
            CompletableFuture<Response> under = client.send(get(server));
            CompletableFuture<Response> waiting = client.send(get(server));
            until(() -> server.requests().size() == 1 && client.stats().pending() == 1);
            CompletableFuture<Void> closing = CompletableFuture.runAsync(() -> client.close(Duration.ofMinutes(1)));
            assertEquals(ErrorKind.POOL, failure(waiting).kind());
            assertEquals(ErrorKind.POOL, failure(client.send(get(server))).kind());
            assertFalse(under.isDone());
            answer.countDown();
            assertEquals(200, Eventually.of(under).status());
            Eventually.of(closing);
            assertEquals(new PoolStats(0, 0, 0, 0, 1), client.stats());
        }
    }

    @Test
    void point12WhatIsNotOverInTimeIsClosed() throws Exception {
        try (TestServer server = TestServer.silent()) {
            OnewriteClient client = OnewriteClient.create();
            CompletableFuture<Response> under = client.send(get(server));
            until(() -> client.stats().active() == 1);
            client.close(Duration.ofMillis(1));
            assertEquals(ErrorKind.CLOSED, failure(under).kind());
        }
    }

    /** An interrupted close() fails the calls under way; this one is stuck in its DNS lookup. */
    @Test
    void point12AnInterruptedCloseFailsCallsUnderWay() throws Exception {
        CountDownLatch resolve = new CountDownLatch(1);
        OnewriteClient client = OnewriteClient.builder()
                .resolver(host -> List.of(after(resolve)))
                .build();
        CompletableFuture<Response> call =
                client.send(Request.get("http://somewhere.test/").build());
        until(() -> client.stats().connecting() == 1);
        Thread.currentThread().interrupt();
        client.close(Duration.ofMinutes(1));
        assertTrue(Thread.interrupted(), "the interrupt is passed on");
        assertEquals(ErrorKind.POOL, failure(call).kind());
        resolve.countDown();
    }

    /** Event loops of the caller's may be shut down before the client. */
    @Test
    void point12ALookupThatOutlivesItsLoopFailsTheCalls() throws Exception {
        CountDownLatch resolve = new CountDownLatch(1);
        Transport transport = Transport.nio(1);
        OnewriteClient client = OnewriteClient.builder()
                .eventLoopGroup(transport.group(), NioSocketChannel::new)
                .resolver(host -> List.of(after(resolve)))
                .maxConnectionsPerOrigin(1)
                .build();
        Request request = Request.get("http://somewhere.test/").build();
        CompletableFuture<Response> call = client.send(request);
        CompletableFuture<Response> waiting = client.send(request);
        until(() -> client.stats().connecting() == 1 && client.stats().pending() == 1);
        transport.group().shutdownGracefully(0, 1, TimeUnit.SECONDS).await();
        resolve.countDown();
        assertEquals(ErrorKind.POOL, failure(call).kind());
        assertEquals(ErrorKind.POOL, failure(waiting).kind());
        client.close();
    }

    /** Returns the loopback address once the latch is open. */
    private static InetAddress after(CountDownLatch resolve) {
        try {
            resolve.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
        return InetAddress.getLoopbackAddress();
    }

    /** A call that starts before close(), and creates its origin's pool after it. */
    @Test
    void point12APoolMadeDuringTheCloseTakesNoCall() throws Exception {
        AtomicReference<OnewriteClient> client = new AtomicReference<>();
        try (TestServer server = TestServer.silent()) {
            client.set(OnewriteClient.builder()
                    // The call has found the client open, and finds its pool after this.
                    .jdkTls(() -> {
                        client.get().close();
                        return SslContextBuilder.forClient().build();
                    })
                    .build());
            Request request =
                    Request.get("https://127.0.0.1:" + server.port() + "/").build();
            assertEquals(ErrorKind.POOL, failure(client.get().send(request)).kind());
            assertEquals(0, server.connections());
        }
    }

    /** A listener with a full queue answers no SYN: the first address gets half of the connect timeout, not all of it. */
    @Test
    @EnabledOnOs(OS.LINUX)
    void anAddressThatDoesNotAnswerLeavesTimeForTheNext() throws Exception {
        InetAddress dark = InetAddress.getByName("127.0.0.1");
        InetAddress light = InetAddress.getByName("127.0.0.2");
        List<SocketChannel> queued = new ArrayList<>();
        try (ServerSocket hole = new ServerSocket(0, 1, dark);
                ServerSocket listener = new ServerSocket(hole.getLocalPort(), 50, light);
                TestServer server = TestServer.answering(listener);
                OnewriteClient client = OnewriteClient.builder()
                        .time(time)
                        .connectTimeout(Duration.ofSeconds(10))
                        .resolver(host -> List.of(dark, light))
                        .build()) {
            fill(hole, queued);
            CompletableFuture<Response> call = client.send(
                    Request.get("http://somewhere.test:" + server.port() + "/").build());
            until(() -> time.planned() == 2);
            time.advance(Duration.ofMillis(4_999));
            assertEquals(0, server.connections(), "the first address has half of the time");
            time.advance(Duration.ofMillis(1));
            assertEquals(200, Eventually.of(call).status());
            assertEquals(1, server.connections());

            // With one address the whole timeout is for it.
            until(() -> client.stats().idle() == 1);
            CompletableFuture<Response> dead = client.send(
                    Request.get("http://127.0.0.1:" + server.port() + "/").build());
            until(() -> client.stats().connecting() == 1);
            time.advance(Duration.ofMillis(9_999));
            assertFalse(dead.isDone());
            time.advance(Duration.ofMillis(1));
            assertEquals(ErrorKind.TIMEOUT, failure(dead).kind());
        } finally {
            for (SocketChannel each : queued) {
                each.close();
            }
        }
    }

    private static void fill(ServerSocket hole, List<SocketChannel> queued) throws Exception {
        for (int stuck = 0; stuck < 2; ) {
            SocketChannel next = SocketChannel.open();
            queued.add(next);
            assertTrue(queued.size() < 50, "the queue of the listener does not fill");
            try {
                next.socket().connect(hole.getLocalSocketAddress(), 300);
            } catch (SocketTimeoutException e) {
                stuck++;
            }
        }
    }

    /** {@link ResendTest} has the other methods. */
    @Test
    void point13APostOnALostConnectionIsNotSentAgain() throws Exception {
        try (TestServer server = TestServer.closingAt(2);
                OnewriteClient client = OnewriteClient.create()) {
            client.execute(get(server));
            OnewriteException why = failure(
                    client.send(Request.post(server.url(), Body.of("once")).build()));
            assertEquals(ErrorKind.CLOSED, why.kind());
            assertEquals(2, server.requests().size());
        }
    }

    @Test
    void point14OriginsProxiesAndIdentitiesDoNotShareConnections() throws Exception {
        try (TestServer server = TestServer.answering();
                OnewriteClient client = OnewriteClient.create();
                OnewriteClient proxied = OnewriteClient.builder()
                        .proxy(new Proxy("127.0.0.1", server.port()))
                        .build()) {
            client.execute(get(server));
            client.execute(Request.get("http://localhost:" + server.port() + "/"));
            assertEquals(2, server.connections(), "the host is part of the key");
            assertEquals(2, client.statsByOrigin().size());
            proxied.execute(get(server));
            assertEquals(3, server.connections(), "so is the proxy, which a client has one of, as its TLS identity");
        }
        assertNotEquals(new Origin(false, "a", 443), new Origin(true, "a", 443), "and so is the scheme");
    }

    @Test
    void point15Counters() throws Exception {
        CountDownLatch go = new CountDownLatch(1);
        try (TestServer server = TestServer.answeringAfter(go, TestServer.OK);
                OnewriteClient client =
                        OnewriteClient.builder().maxConnectionsPerOrigin(2).build()) {
            List<CompletableFuture<?>> all = new ArrayList<>();
            for (int i = 0; i < 5; i++) {
                all.add(client.send(get(server)));
            }
            until(() -> client.stats().equals(new PoolStats(2, 0, 0, 3, 2)));
            go.countDown();
            Eventually.of(CompletableFuture.allOf(all.toArray(CompletableFuture[]::new)));
            until(() -> client.stats().equals(new PoolStats(0, 2, 0, 0, 2)));
            assertEquals(
                    List.of("http://127.0.0.1:" + server.port()),
                    List.copyOf(client.statsByOrigin().keySet()));
        }
    }

    /** A client that calls many hosts keeps no memory of them. */
    @Test
    void anOriginWithoutConnectionsIsForgotten() throws Exception {
        try (TestServer server =
                        TestServer.answering("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
                OnewriteClient client = OnewriteClient.builder()
                        .resolver(host -> List.of(InetAddress.getLoopbackAddress()))
                        .build()) {
            for (int i = 0; i < 20; i++) {
                String url = "http://host-" + i + ".test:" + server.port() + "/";
                assertEquals(200, client.execute(Request.get(url)).status());
            }
            assertEquals(
                    ErrorKind.CONNECT,
                    failure(client.send(Request.get("http://127.0.0.1:" + TestServer.unusedPort() + "/")))
                            .kind());
            until(() -> client.statsByOrigin().isEmpty());
            assertEquals(new PoolStats(0, 0, 0, 0, 20), client.stats());
        }
    }

    /** Calls race with the removal of their origin's pool: none is lost, and there are never more connections than allowed. */
    @Test
    void aPoolThatIsRemovedLosesNoCall() throws Exception {
        AtomicInteger open = new AtomicInteger();
        AtomicInteger most = new AtomicInteger();
        try (TestServer server = new TestServer(connection -> {
                    most.accumulateAndGet(open.incrementAndGet(), Math::max);
                    connection.read();
                    open.decrementAndGet();
                    connection.send("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
                });
                OnewriteClient client = OnewriteClient.builder()
                        .maxConnectionsPerOrigin(2)
                        .eventLoops(2)
                        .build()) {
            List<CompletableFuture<Void>> callers = new ArrayList<>();
            for (int caller = 0; caller < 3; caller++) {
                callers.add(CompletableFuture.runAsync(() -> {
                    for (int i = 0; i < 100; i++) {
                        assertEquals(200, client.send(get(server)).join().status());
                    }
                }));
            }
            Eventually.of(CompletableFuture.allOf(callers.toArray(CompletableFuture[]::new)));
            assertEquals(300, server.requests().size());
            assertTrue(most.get() <= 2, () -> "connections at a time: " + most);
        }
    }

    /** Lookups that hang take a bounded number of threads. */
    @Test
    void lookupsAreBounded() throws Exception {
        CountDownLatch resolve = new CountDownLatch(1);
        AtomicInteger running = new AtomicInteger();
        AtomicInteger most = new AtomicInteger();
        try (TestServer server = TestServer.answering();
                OnewriteClient client = OnewriteClient.builder()
                        .resolver(host -> {
                            most.accumulateAndGet(running.incrementAndGet(), Math::max);
                            InetAddress found = after(resolve);
                            running.decrementAndGet();
                            return List.of(found);
                        })
                        .build()) {
            List<CompletableFuture<Response>> calls = new ArrayList<>();
            for (int i = 0; i < 40; i++) {
                calls.add(client.send(Request.get("http://host-" + i + ".test:" + server.port() + "/")));
            }
            until(() -> running.get() == Lookups.THREADS && client.stats().connecting() == 40);
            resolve.countDown();
            Eventually.of(CompletableFuture.allOf(calls.toArray(CompletableFuture[]::new)));
            assertEquals(Lookups.THREADS, most.get());
        }
    }
}
