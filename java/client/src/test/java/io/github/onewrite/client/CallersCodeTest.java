package io.github.onewrite.client;

import static io.github.onewrite.testing.Eventually.failure;
import static io.github.onewrite.testing.Eventually.until;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.onewrite.ErrorKind;
import io.github.onewrite.OnewriteException;
import io.github.onewrite.TimingListener;
import io.github.onewrite.client.internal.Transport;
import io.github.onewrite.testing.Eventually;
import io.github.onewrite.testing.TestServer;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Flow;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Publishers, subscribers and executors of the caller's that throw on the event loop affect no other call. */
class CallersCodeTest {
    private static final PoolStats ALL_CLOSED = new PoolStats(0, 0, 0, 0, 1);

    private static final IllegalStateException THROWN = new IllegalStateException("from the test");

    private static Request get(TestServer server) {
        return Request.get(server.url()).build();
    }

    private static Flow.Publisher<ByteBuffer> throwing(String where) {
        return subscriber -> {
            if (where.equals("subscribe")) {
                throw THROWN;
            }
            Flow.Subscription subscription = new Flow.Subscription() {
                private boolean begun;

                @Override
                public void request(long n) {
                    if (begun || !where.equals("second request")) {
                        throw THROWN;
                    }
                    begun = true;
                    subscriber.onNext(ByteBuffer.wrap(new byte[10]));
                }

                @Override
                public void cancel() {
                    throw THROWN;
                }
            };
            if (where.equals("request on another thread")) {
                new Thread(() -> subscriber.onSubscribe(subscription), "test-publisher").start();
            } else {
                subscriber.onSubscribe(subscription);
            }
        };
    }

    /** The publisher is subscribed while the previous call ends, on the connection which that call gives back. */
    @ParameterizedTest(name = "in {0}")
    @ValueSource(strings = {"subscribe", "request", "second request", "request on another thread"})
    void aPublisherThatThrowsFailsItsOwnCallAlone(String where) throws Exception {
        CountDownLatch go = new CountDownLatch(1);
        try (TestServer server = TestServer.answeringAfter(go, TestServer.OK);
                OnewriteClient client =
                        OnewriteClient.builder().maxConnectionsPerOrigin(1).build()) {
            CompletableFuture<Response> innocent = client.send(get(server));
            CompletableFuture<Response> guilty =
                    client.send(Request.post(server.url(), Body.ofPublisher(throwing(where))));
            CompletableFuture<Response> later = client.send(get(server));
            until(() -> server.requests().size() == 1 && client.stats().pending() == 2);
            go.countDown();
            assertEquals(200, Eventually.of(innocent).status());
            OnewriteException why = failure(guilty);
            assertEquals(ErrorKind.OTHER, why.kind());
            assertSame(THROWN, why.getCause());
            assertEquals(200, Eventually.of(later).status());
            until(() -> client.stats().equals(new PoolStats(0, 1, 0, 0, 2)));
        }
    }

    /** The body is requested after the server's 100, or after continueTimeout. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aPublisherThatThrowsAfterExpectContinue(boolean answered) throws Exception {
        try (TestServer server = new TestServer(connection -> {
                    connection.readHead();
                    if (answered) {
                        connection.send("HTTP/1.1 100 Continue\r\n\r\n");
                    }
                    connection.drain();
                });
                OnewriteClient client = OnewriteClient.builder()
                        .continueTimeout(answered ? Duration.ofMinutes(5) : Duration.ofMillis(50))
                        .build()) {
            OnewriteException why =
                    failure(client.send(Request.post(server.url(), Body.ofPublisher(throwing("subscribe")))
                            .header("Expect", "100-continue")));
            assertSame(THROWN, why.getCause());
            until(() -> client.stats().equals(ALL_CLOSED));
        }
    }

    /** An error whose text cannot be made, either. */
    private static final class Unprintable extends RuntimeException {
        private static final long serialVersionUID = 1L;

        @Override
        public String toString() {
            throw THROWN;
        }
    }

    private static void fail(String how) {
        switch (how) {
            case "stack" -> fail(how);
            case "memory" -> throw new OutOfMemoryError("from the test");
            case "unprintable" -> throw new Unprintable();
            default -> throw THROWN;
        }
    }

    /** Whatever a hook throws, its call ends and gives its connection back. */
    @ParameterizedTest
    @ValueSource(strings = {"stack", "memory", "unprintable", "exception"})
    void aHookThatThrowsKeepsNoCallFromEnding(String how) throws Exception {
        try (TestServer server = TestServer.answering();
                OnewriteClient client = OnewriteClient.builder()
                        .maxConnectionsPerOrigin(1)
                        .onTiming(timing -> fail(how))
                        .listener(TimingListener.of(event -> fail(how)))
                        .build()) {
            for (int i = 0; i < 3; i++) {
                assertEquals(200, Eventually.of(client.send(get(server))).status());
            }
            assertEquals(new PoolStats(0, 1, 0, 0, 1), client.stats());
            assertTrue(client.hookFailures() > 30, () -> "hooks that threw: " + client.hookFailures());
        }
    }

    @Test
    void futuresCompleteOnTheCallbackExecutor() throws Exception {
        CountDownLatch go = new CountDownLatch(1);
        ExecutorService executor = Executors.newSingleThreadExecutor(task -> new Thread(task, "test-callback"));
        try (TestServer server = TestServer.answeringAfter(go, TestServer.OK);
                OnewriteClient client = OnewriteClient.builder()
                        .callbackExecutor(executor)
                        .maxConnectionsPerOrigin(2)
                        .maxPendingPerOrigin(0)
                        .build()) {
            CompletableFuture<String> sent = client.send(get(server)).thenApply(any -> threadName());
            CompletableFuture<String> streamed = client.stream(get(server)).thenApply(response -> {
                response.close();
                return threadName();
            });
            // Registered before there is a connection, and so before the response.
            CompletableFuture<String> failed = new CompletableFuture<>();
            executor.execute(() -> client.send(get(server)).whenComplete((any, why) -> failed.complete(threadName())));
            assertEquals("test-callback", Eventually.of(failed), "the queue is full");
            go.countDown();
            assertEquals("test-callback", Eventually.of(sent));
            assertEquals("test-callback", Eventually.of(streamed));
        } finally {
            executor.shutdown();
        }
    }

    private static String threadName() {
        return Thread.currentThread().getName();
    }

    @Test
    void aCallbackExecutorThatRejectsIsDoneWithout() throws Exception {
        ExecutorService executor = Executors.newSingleThreadExecutor();
        executor.shutdown();
        try (Socket nobody = new Socket();
                TestServer server = TestServer.answering();
                OnewriteClient client =
                        OnewriteClient.builder().callbackExecutor(executor).build()) {
            // Bound and not listening: connects are refused, and nobody else gets the port.
            nobody.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
            assertEquals(200, Eventually.of(client.send(get(server))).status());
            CompletableFuture<Integer> executed = CompletableFuture.supplyAsync(() -> {
                try {
                    return client.execute(get(server)).status();
                } catch (java.io.IOException e) {
                    throw new java.io.UncheckedIOException(e);
                }
            });
            assertEquals(200, Eventually.of(executed));
            StreamedResponse streamed = Eventually.of(client.stream(get(server)));
            assertEquals("ok", new String(Eventually.of(Publishers.collect(streamed.body()))));
            assertEquals(
                    ErrorKind.CONNECT,
                    failure(client.send(Request.get("http://127.0.0.1:" + nobody.getLocalPort() + "/")
                                    .build()))
                            .kind());
        }
    }

    /** As orTimeout and completeOnTimeout complete it. */
    @ParameterizedTest(name = "{0}")
    @ValueSource(strings = {"send", "stream"})
    void aFutureThatIsCompletedFromOutsideCancelsTheCall(String how) throws Exception {
        try (TestServer server = TestServer.silent();
                OnewriteClient client = OnewriteClient.create()) {
            CompletableFuture<?> first = how.equals("send") ? client.send(get(server)) : client.stream(get(server));
            CompletableFuture<?> second = how.equals("send") ? client.send(get(server)) : client.stream(get(server));
            until(() -> server.requests().size() == 2);
            assertTrue(first.complete(null));
            second.orTimeout(1, TimeUnit.MILLISECONDS);
            until(() -> server.closed() == 2 && client.stats().equals(new PoolStats(0, 0, 0, 0, 2)));
            assertFalse(first.isCompletedExceptionally());
        }
    }

    /** completeAsync cannot be intercepted: the call notices when its response arrives, and closes it. */
    @Test
    void aResponseThatFindsItsFutureCompletedIsClosed() throws Exception {
        CountDownLatch go = new CountDownLatch(1);
        try (TestServer server = TestServer.answeringAfter(go, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf");
                OnewriteClient client = OnewriteClient.create()) {
            CompletableFuture<StreamedResponse> future = client.stream(get(server));
            until(() -> server.requests().size() == 1);
            Eventually.of(future.completeAsync(() -> null, Runnable::run));
            assertEquals(1, client.stats().active(), "the control: this one is not seen");
            go.countDown();
            until(() -> client.stats().equals(ALL_CLOSED));
        }
    }

    /** A subscriber that throws in one of its methods. */
    private static final class Throwing implements Flow.Subscriber<ByteBuffer> {
        private final String where;
        private final CompletableFuture<Throwable> told = new CompletableFuture<>();

        Throwing(String where) {
            this.where = where;
        }

        private void in(String signal) {
            if (where.equals(signal)) {
                throw THROWN;
            }
        }

        @Override
        public void onSubscribe(Flow.Subscription subscription) {
            in("onSubscribe");
            subscription.request(Long.MAX_VALUE);
        }

        @Override
        public void onNext(ByteBuffer item) {
            in("onNext");
        }

        @Override
        public void onError(Throwable thrown) {
            told.complete(thrown);
            throw THROWN;
        }

        @Override
        public void onComplete() {
            in("onComplete");
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"onSubscribe", "onNext"})
    void aSubscriberThatThrowsCancelsItsResponse(String where) throws Exception {
        try (TestServer server = TestServer.answeringOnce("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf");
                OnewriteClient client = OnewriteClient.create()) {
            Throwing subscriber = new Throwing(where);
            Eventually.of(client.stream(get(server))).body().subscribe(subscriber);
            assertSame(THROWN, Eventually.of(subscriber.told));
            until(() -> server.closed() == 1 && client.stats().equals(ALL_CLOSED));
        }
    }

    /** When onComplete is called, the connection already belongs to the next call. */
    @Test
    void aSubscriberThatThrowsAtTheEndDoesNotFailTheNextCall() throws Exception {
        CountDownLatch go = new CountDownLatch(1);
        try (TestServer server = new TestServer(connection -> {
                    while (true) {
                        connection.read();
                        connection.send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nha");
                        go.await();
                        connection.send("lf");
                    }
                });
                OnewriteClient client =
                        OnewriteClient.builder().maxConnectionsPerOrigin(1).build()) {
            Eventually.of(client.stream(get(server))).body().subscribe(new Throwing("onComplete"));
            CompletableFuture<Response> next = client.send(get(server));
            until(() -> client.stats().pending() == 1);
            go.countDown();
            assertEquals("half", Eventually.of(next).text());
            assertEquals(1, server.connections());
        }
    }

    @Test
    void aSecondSubscriberIsRefusedWhateverItThrows() throws Exception {
        try (TestServer server = TestServer.answering();
                OnewriteClient client = OnewriteClient.create()) {
            StreamedResponse response = Eventually.of(client.stream(get(server)));
            CompletableFuture<byte[]> read = Publishers.collect(response.body());
            Throwing second = new Throwing("onComplete");
            response.body().subscribe(second);
            assertSame(IllegalStateException.class, Eventually.of(second.told).getClass());
            assertEquals("ok", new String(Eventually.of(read)));
        }
    }

    /** The client and its event loop are gone: the body's subscriber gets an error, and close() does nothing. */
    @Test
    void aBodyThatOutlivesItsClient() throws Exception {
        try (TestServer server = TestServer.answeringOnce("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf")) {
            Transport transport = Transport.nio(1);
            OnewriteClient client = OnewriteClient.builder()
                    .eventLoopGroup(transport.group(), () -> new io.netty.channel.socket.nio.NioSocketChannel())
                    .build();
            StreamedResponse response = Eventually.of(client.stream(get(server)));
            client.close(Duration.ZERO);
            transport.group().shutdownGracefully(0, 1, TimeUnit.SECONDS).await();
            Throwing subscriber = new Throwing("nothing");
            response.body().subscribe(subscriber);
            OnewriteException why = (OnewriteException) Eventually.of(subscriber.told);
            assertEquals(ErrorKind.POOL, why.kind());
            response.close();
        }
    }
}
