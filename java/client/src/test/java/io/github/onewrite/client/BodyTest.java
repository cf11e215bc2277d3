package io.github.onewrite.client;

import static io.github.onewrite.client.PoolTest.failure;
import static io.github.onewrite.client.PoolTest.get;
import static io.github.onewrite.testing.Eventually.until;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.onewrite.testing.Eventually;
import io.github.onewrite.testing.TestServer;
import io.netty.channel.ChannelOption;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Flow;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.zip.GZIPOutputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Bodies of requests and of responses, streamed ones among them. */
class BodyTest {
    private static final AssertionError THROWN = new AssertionError("example");

    @TempDir
    Path dir;

    @ParameterizedTest
    @ValueSource(strings = {"nio", "epoll", "io_uring"})
    void everySizeArrivesWhole(String transport) throws Exception {
        try (TestServer server = TestServer.answering();
                Transports.Standing standing = Transports.build(transport, OnewriteClient.builder())) {
            for (int size : new int[] {0, 1, 8192, 8193, 16_384, 70_000, 1_048_577, 5_000_000}) {
                byte[] body = new byte[size];
                new Random(size).nextBytes(body);
                ByteBuffer buffer =
                        ByteBuffer.allocateDirect(size + 1).put(body).flip();
                Path file = Files.write(dir.resolve("body"), body);
                for (Body each : new Body[] {Body.of(body), Body.ofFile(file), Body.of(buffer)}) {
                    standing.client().execute(Request.post(server.url(), each));
                    standing.client().execute(Request.post(server.url(), each));
                }
                assertEquals(size, buffer.remaining(), "the caller's buffer stays as it is");
                assertEquals(6, server.requests().size());
                for (TestServer.Received received : server.requests()) {
                    assertArrayEquals(body, received.body());
                }
                server.requests().clear();
            }
            assertEquals(1, server.connections());
        }
    }

    @Test
    void aFileThatIsNone() throws Exception {
        try (TestServer server = TestServer.answering();
                OnewriteClient client = OnewriteClient.create()) {
            assertInstanceOf(IOException.class, failure(client.send(Request.post(server.url(), Body.ofFile(dir)))));
            assertEquals(0, server.requests().size());
        }
    }

    @Test
    void aPublisherOnAnotherThread() throws Exception {
        try (TestServer server = TestServer.answering();
                OnewriteClient client = OnewriteClient.create()) {
            Flow.Publisher<ByteBuffer> body =
                    subscriber -> new Thread(() -> Publishers.of("a", "", "bc").subscribe(subscriber)).start();
            assertEquals(
                    "ok",
                    client.execute(Request.post(server.url(), Body.ofPublisher(body)))
                            .text());
            assertEquals("abc", new String(server.requests().get(0).body(), StandardCharsets.UTF_8));
            assertEquals("chunked", server.requests().get(0).header("transfer-encoding"));
            client.execute(Request.post(server.url(), Body.ofPublisher(Publishers.of("ab", "c"), 3)));
            assertEquals("3", server.requests().get(1).header("content-length"));
        }
    }

    /** The end of the input comes while Netty reads it, and nothing resumes the transfer afterwards. */
    @ParameterizedTest
    @ValueSource(strings = {"", ",", "a,", ",a", ",,a,,"})
    void emptyChunks(String texts) throws Exception {
        String[] chunks = texts.split(",", -1);
        String whole = String.join("", chunks);
        try (TestServer server = TestServer.answering();
                OnewriteClient client = OnewriteClient.create()) {
            for (var body : List.of(Publishers.of(chunks), Publishers.completingLate(chunks))) {
                client.send(Request.post(server.url(), Body.ofPublisher(body))).get(10, TimeUnit.SECONDS);
                client.send(Request.post(server.url(), Body.ofPublisher(body, whole.length())))
                        .get(10, TimeUnit.SECONDS);
            }
            assertEquals(4, server.requests().size());
            for (var request : server.requests()) {
                assertEquals(whole, new String(request.body(), StandardCharsets.UTF_8));
            }
        }
    }

    /** The client requests no more than the peer takes, and other calls of the event loop go on. */
    @Test
    void aPublisherIsHeldBackAndCancelled() throws Exception {
        CountDownLatch go = new CountDownLatch(1);
        AtomicInteger published = new AtomicInteger();
        try (TestServer server = new TestServer(connection -> {
                    connection.readHead();
                    go.await();
                    connection.drain();
                });
                TestServer other = TestServer.answering();
                Transports.Standing standing = Transports.nio(OnewriteClient.builder())) {
            CompletableFuture<Response> call =
                    standing.client().send(Request.post(server.url(), Body.ofPublisher(Publishers.endless(published))));
            until(() -> published.get() > 0);
            int held;
            do {
                held = published.get();
                assertTrue(held < 10_000, "held back");
                Thread.sleep(200);
            } while (held != published.get());
            int before = held;
            assertEquals(200, standing.client().execute(get(other)).status());
            go.countDown();
            until(() -> published.get() > before + 100);
            assertEquals(200, standing.client().execute(get(other)).status());
            call.cancel(true);
            until(() -> server.closed() == 1);
            int last = published.get();
            Thread.sleep(50);
            assertEquals(last, published.get());
        }
    }

    /** Its own call fails, with what was thrown or signalled; the next call is not harmed. */
    @ParameterizedTest
    @ValueSource(strings = {"subscribe", "request", "onError", "onError later", "null", "null error", "unrequested"})
    void aPublisherThatFails(String where) throws Exception {
        Flow.Publisher<ByteBuffer> body = subscriber -> {
            if (where.equals("subscribe")) {
                throw THROWN;
            }
            subscriber.onSubscribe(new Flow.Subscription() {
                @Override
                public void request(long n) {
                    ByteBuffer chunk = ByteBuffer.wrap(new byte[] {'x'});
                    switch (where) {
                        case "request" -> throw THROWN;
                        case "null" -> subscriber.onNext(null);
                        case "null error" -> subscriber.onError(null);
                        case "unrequested" -> List.of(chunk, chunk).forEach(subscriber::onNext);
                        case "onError later" -> {
                            subscriber.onNext(chunk);
                            subscriber.onError(THROWN);
                        }
                        default -> subscriber.onError(THROWN);
                    }
                }

                @Override
                public void cancel() {}
            });
        };
        try (TestServer server = TestServer.answering();
                OnewriteClient client = OnewriteClient.create()) {
            Throwable why = failure(client.send(Request.post(server.url(), Body.ofPublisher(body))));
            if (where.contains("null") || where.equals("unrequested")) {
                assertTrue(why.getMessage().startsWith("the publisher of the body"), why::toString);
            } else {
                assertSame(THROWN, why == THROWN ? why : why.getCause());
            }
            assertEquals("ok", client.execute(get(server)).text());
            assertEquals(1, server.requests().size());
        }
    }

    @Test
    void signalsAfterTheLastAreIgnored() throws Exception {
        Flow.Publisher<ByteBuffer> body = subscriber -> Publishers.of("body").subscribe(new Flow.Subscriber<>() {
            @Override
            public void onSubscribe(Flow.Subscription given) {
                subscriber.onSubscribe(given);
            }

            @Override
            public void onNext(ByteBuffer item) {
                subscriber.onNext(item);
            }

            @Override
            public void onError(Throwable thrown) {}

            @Override
            public void onComplete() {
                subscriber.onComplete();
                subscriber.onNext(ByteBuffer.wrap(new byte[] {'x'}));
                subscriber.onComplete();
                subscriber.onError(THROWN);
            }
        });
        try (TestServer server = TestServer.answering();
                OnewriteClient client = OnewriteClient.create()) {
            for (int i = 0; i < 2; i++) {
                Body each = i == 0 ? Body.ofPublisher(body) : Body.ofPublisher(body, 4);
                assertEquals(
                        "ok", client.execute(Request.post(server.url(), each)).text());
                assertEquals("body", new String(server.requests().get(i).body(), StandardCharsets.UTF_8));
            }
        }
    }

    /** What a publisher signals after its call has ended is ignored. */
    @Test
    void aPublisherThatIsLate() throws Exception {
        CompletableFuture<Flow.Subscriber<? super ByteBuffer>> body = new CompletableFuture<>();
        try (TestServer server = TestServer.silent();
                Transports.Standing standing = Transports.nio(OnewriteClient.builder())) {
            failure(standing.client()
                    .send(Request.post(server.url(), Body.ofPublisher(body::complete))
                            .timeout(Duration.ofMillis(500))));
            until(() -> server.closed() == 1);
            CompletableFuture<Throwable> thrown = new CompletableFuture<>();
            standing.group().next().execute(() -> {
                try {
                    Publishers.of("late").subscribe(body.join());
                    thrown.complete(null);
                } catch (Throwable e) {
                    thrown.complete(e);
                }
            });
            assertNull(Eventually.of(thrown));
        }
    }

    @Test
    void aStreamedResponseIsReadAtTheCallersPace() throws Exception {
        byte[] body = new byte[5_000_000];
        new Random(1).nextBytes(body);
        AtomicInteger sent = new AtomicInteger();
        try (TestServer server = new TestServer(connection -> {
                    while (true) {
                        connection.read();
                        connection.send("HTTP/1.1 200 OK\r\nContent-Length: " + body.length + "\r\n\r\n");
                        for (int at = 0; at < body.length; at += 50_000) {
                            connection.socket().getOutputStream().write(body, at, 50_000);
                            sent.set(at + 50_000);
                        }
                    }
                });
                OnewriteClient client = OnewriteClient.builder()
                        .channelOption(ChannelOption.SO_RCVBUF, 65536) // the kernel could hold all of it
                        .build()) {
            for (int round = 0; round < 2; round++) {
                StreamedResponse response = Eventually.of(client.stream(get(server)));
                assertEquals("5000000", response.headers().get("content-length"));
                assertArrayEquals(body, Eventually.of(Publishers.collectOneByOne(response.body())));
            }
            assertEquals(1, server.connections());
            StreamedResponse unread = Eventually.of(client.stream(get(server)));
            int before;
            do {
                before = sent.get();
                Thread.sleep(300);
            } while (before != sent.get());
            assertTrue(before < body.length, "nothing is read without demand");
            unread.close();
            until(() -> server.closed() == 1);
        }
    }

    /** No limit runs without demand. */
    @Test
    void aBodyThatIsSubscribedLate() throws Exception {
        try (TestServer server = new TestServer(connection -> {
                    connection.read();
                    connection.send("HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n");
                    Thread.sleep(50);
                    connection.send("body");
                    connection.drain();
                });
                OnewriteClient client = OnewriteClient.builder()
                        .idleReadTimeout(Duration.ofMillis(200))
                        .build()) {
            StreamedResponse response = Eventually.of(client.stream(get(server)));
            Thread.sleep(500);
            Throwing subscriber = new Throwing("nothing");
            response.body().subscribe(subscriber);
            assertTrue(Eventually.of(subscriber.ended).getMessage().contains("got no bytes"));
            assertEquals(4, subscriber.bytes, "the limit runs from the first demand");
        }
    }

    /** Throws in one of its signals. */
    private static final class Throwing implements Flow.Subscriber<ByteBuffer> {
        private final String where;
        private final CompletableFuture<Flow.Subscription> subscription = new CompletableFuture<>();
        private final CompletableFuture<Throwable> ended = new CompletableFuture<>();
        private int bytes;

        Throwing(String where) {
            this.where = where;
        }

        private void in(String signal) {
            if (where.equals(signal)) {
                throw THROWN;
            }
        }

        @Override
        public void onSubscribe(Flow.Subscription given) {
            in("onSubscribe");
            subscription.complete(given);
            if (!where.equals("waits")) {
                given.request(where.equals("request") ? 0 : 100);
            }
        }

        @Override
        public void onNext(ByteBuffer item) {
            bytes += item.remaining();
            in("onNext");
        }

        @Override
        public void onError(Throwable thrown) {
            ended.complete(thrown);
        }

        @Override
        public void onComplete() {
            ended.complete(new IllegalStateException("complete"));
            in("onComplete");
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"onSubscribe", "onNext", "request"})
    void aSubscriberThatThrowsCancelsItsResponse(String where) throws Exception {
        try (TestServer server = TestServer.answeringOnce("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf");
                OnewriteClient client = OnewriteClient.create()) {
            Throwing subscriber = new Throwing(where);
            Eventually.of(client.stream(get(server))).body().subscribe(subscriber);
            Throwable why = Eventually.of(subscriber.ended);
            assertTrue(why == THROWN || (where.equals("request") && why instanceof IllegalArgumentException));
            until(() -> server.closed() == 1);
        }
    }

    @Test
    void aSecondSubscriberIsRefused() throws Exception {
        try (TestServer server = TestServer.answering();
                OnewriteClient client = OnewriteClient.create()) {
            StreamedResponse response = Eventually.of(client.stream(get(server)));
            CompletableFuture<byte[]> read = Publishers.collect(response.body());
            Throwing second = new Throwing("onComplete");
            response.body().subscribe(second);
            assertTrue(Eventually.of(second.ended).getMessage().contains("subscriber already"));
            assertEquals("ok", new String(Eventually.of(read), StandardCharsets.UTF_8));
        }
    }

    /** The client and its event loop are gone: the body's subscriber still gets its signals, and close() does nothing. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aBodyThatOutlivesItsClient(boolean subscribed) throws Exception {
        try (TestServer server = TestServer.answeringOnce("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf")) {
            Transports.Standing standing = Transports.nio(OnewriteClient.builder());
            StreamedResponse response = Eventually.of(standing.client().stream(get(server)));
            Throwing subscriber = new Throwing("waits");
            if (subscribed) {
                response.body().subscribe(subscriber);
            }
            standing.client().close();
            // Without a quiet period Netty's loop may end without closing its channels.
            standing.group()
                    .shutdownGracefully(200, 5000, TimeUnit.MILLISECONDS)
                    .await();
            if (!subscribed) {
                response.body().subscribe(subscriber);
            }
            Eventually.of(subscriber.subscription).request(100);
            assertTrue(Eventually.of(subscriber.ended).getMessage().contains("closed the connection"));
            response.close();
            standing.client().close();
        }
    }

    @Test
    void aStreamThatIsCancelledBeforeItsHead() throws Exception {
        CountDownLatch go = new CountDownLatch(1);
        try (TestServer server = TestServer.answeringAfter(go, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf");
                OnewriteClient client = OnewriteClient.create()) {
            CompletableFuture<StreamedResponse> call = client.stream(get(server));
            until(() -> server.requests().size() == 1);
            call.orTimeout(50, TimeUnit.MILLISECONDS);
            until(() -> server.closed() == 1 || call.isDone());
            go.countDown();
            until(() -> server.closed() == 1);
        }
    }

    @Test
    void decompression() throws Exception {
        ByteArrayOutputStream packed = new ByteArrayOutputStream();
        try (GZIPOutputStream gzip = new GZIPOutputStream(packed)) {
            gzip.write("unpacked".getBytes(StandardCharsets.UTF_8));
        }
        String answer = "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: " + packed.size() + "\r\n\r\n"
                + packed.toString(StandardCharsets.ISO_8859_1);
        try (TestServer server = TestServer.answering(answer);
                OnewriteClient plain = OnewriteClient.create();
                OnewriteClient client =
                        OnewriteClient.builder().decompress(true).build()) {
            assertEquals("unpacked", client.execute(get(server)).text());
            assertEquals("gzip, deflate", server.requests().get(0).header("accept-encoding"));
            assertArrayEquals(packed.toByteArray(), plain.execute(get(server)).body());
        }
    }
}
