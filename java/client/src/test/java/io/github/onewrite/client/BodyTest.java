package io.github.onewrite.client;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.onewrite.ErrorKind;
import io.github.onewrite.OnewriteException;
import io.github.onewrite.testing.Eventually;
import io.github.onewrite.testing.TestServer;
import java.io.ByteArrayOutputStream;
import java.io.InterruptedIOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.SubmissionPublisher;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.zip.GZIPOutputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Bodies of requests and responses. */
class BodyTest {
    @TempDir
    Path dir;

    private static byte[] random(int size) {
        byte[] bytes = new byte[size];
        new Random(size).nextBytes(bytes);
        return bytes;
    }

    @Test
    void everySizeArrivesWhole() throws Exception {
        try (TestServer server = TestServer.answering();
                OnewriteClient client = OnewriteClient.create()) {
            for (int size : new int[] {0, 1, 8191, 8192, 8193, 16_300, 16_384, 70_000, 1_048_577, 5_000_000}) {
                byte[] body = random(size);
                Path file = Files.write(dir.resolve("body"), body);
                client.execute(Request.post(server.url(), Body.of(body)));
                client.execute(Request.post(server.url(), Body.ofFile(file)));
                client.execute(Request.post(server.url(), Body.of(ByteBuffer.wrap(body))));
                for (TestServer.Received received : server.requests()) {
                    assertArrayEquals(body, received.body());
                }
                server.requests().clear();
            }
            assertEquals(1, server.connections());
        }
    }

    /** The file is opened when the call has its connection: its length may differ from the one announced. */
    @Test
    void aFileThatChangesWhileItsCallWaits() throws Exception {
        CountDownLatch go = new CountDownLatch(1);
        try (TestServer server = TestServer.answeringAfter(go, TestServer.OK);
                OnewriteClient client =
                        OnewriteClient.builder().maxConnectionsPerOrigin(1).build()) {
            Path file = Files.write(dir.resolve("changing"), random(200));
            var first = client.send(Request.get(server.url()).build());
            var second =
                    client.send(Request.post(server.url(), Body.ofFile(file)).build());
            Eventually.until(() -> client.stats().pending() == 1);
            Files.write(file, random(300));
            go.countDown();
            assertEquals(200, Eventually.of(first).status());
            OnewriteException why = Eventually.failure(second);
            assertEquals(ErrorKind.INVALID_REQUEST, why.kind());
            assertTrue(why.getMessage().contains("from 200 to 300"), why.getMessage());
            assertEquals(1, server.requests().size());
        }
    }

    @Test
    void anInterruptCancelsTheCall() throws Exception {
        try (TestServer server = TestServer.silent();
                OnewriteClient client = OnewriteClient.create()) {
            CompletableFuture<Throwable> thrown = new CompletableFuture<>();
            Thread caller = new Thread(() -> {
                try {
                    client.execute(Request.get(server.url()).build());
                    thrown.complete(new AssertionError("answered"));
                } catch (Throwable e) {
                    thrown.complete(Thread.currentThread().isInterrupted() ? e : new AssertionError("no flag", e));
                }
            });
            caller.start();
            Eventually.until(() -> server.requests().size() == 1);
            caller.interrupt();
            assertInstanceOf(InterruptedIOException.class, Eventually.of(thrown));
            Eventually.until(() -> server.closed() == 1 && client.stats().active() == 0);
        }
    }

    @Test
    void aPublisherOnAnotherThread() throws Exception {
        try (TestServer server = TestServer.answering();
                OnewriteClient client = OnewriteClient.create();
                SubmissionPublisher<ByteBuffer> publisher = new SubmissionPublisher<>()) {
            CompletableFuture<Response> call = client.send(Request.post(server.url(), Body.ofPublisher(publisher)));
            while (publisher.getNumberOfSubscribers() == 0) {
                Thread.sleep(1);
            }
            byte[] block = random(100_000);
            for (int i = 0; i < 10; i++) {
                publisher.submit(ByteBuffer.wrap(block));
            }
            publisher.close();
            assertEquals(200, call.get(30, TimeUnit.SECONDS).status());
            assertEquals(1_000_000, server.requests().get(0).body().length);
        }
    }

    /** When the peer does not read, the publisher gets no more demand, and memory stays bounded. */
    @Test
    void aPublisherIsHeldBack() throws Exception {
        AtomicInteger published = new AtomicInteger();
        CountDownLatch done = new CountDownLatch(1);
        try (TestServer server = new TestServer(connection -> done.await());
                OnewriteClient client = OnewriteClient.create()) {
            CompletableFuture<Response> call =
                    client.send(Request.post(server.url(), Body.ofPublisher(Publishers.endless(published))));
            int last = -1;
            while (published.get() == 0 || last != published.get()) {
                last = published.get();
                Thread.sleep(100);
            }
            assertTrue(last < 1000, "blocks of 64 KiB published: " + last);
            call.cancel(true);
            done.countDown();
        }
    }

    @Test
    void aLengthThatIsWrongAndAPublisherThatFails() throws Exception {
        try (TestServer server = TestServer.answering();
                OnewriteClient client = OnewriteClient.create()) {
            for (int length : new int[] {2, 4}) {
                OnewriteException why = assertThrows(
                        OnewriteException.class,
                        () -> client.execute(
                                Request.post(server.url(), Body.ofPublisher(Publishers.of("abc"), length))));
                assertEquals(ErrorKind.INVALID_REQUEST, why.kind());
            }
            OnewriteException why = assertThrows(
                    OnewriteException.class,
                    () -> client.execute(Request.post(server.url(), Body.ofPublisher(Publishers.failing("abc")))));
            assertEquals(ErrorKind.OTHER, why.kind());
            assertTrue(why.getMessage().contains("out of paper"), why.getMessage());
            assertEquals(0, client.stats().idle());
        }
    }

    @Test
    void expectContinue() throws Exception {
        for (String verdict : new String[] {"100", "417", "silence"}) {
            try (TestServer server = new TestServer(connection -> {
                        String head = connection.readHead();
                        assertTrue(head.contains("100-continue"));
                        switch (verdict) {
                            case "100" -> connection.send("HTTP/1.1 100 Continue\r\n\r\n");
                            case "417" -> {
                                connection.send("HTTP/1.1 417 No\r\nContent-Length: 0\r\n\r\n");
                                connection.drain();
                                return;
                            }
                            default -> {}
                        }
                        connection.socket().getInputStream();
                        connection.readHead();
                        connection.send(TestServer.OK);
                    });
                    OnewriteClient client = OnewriteClient.builder()
                            .continueTimeout(java.time.Duration.ofMillis(100))
                            .build()) {
                Response response = client.execute(
                        Request.post(server.url(), Body.of("body\r\n\r\n")).header("Expect", "100-continue"));
                assertEquals(verdict.equals("417") ? 417 : 200, response.status(), verdict);
            }
        }
    }

    @Test
    void aStreamedResponseIsReadAtTheCallersPace() throws Exception {
        byte[] body = random(3_000_000);
        try (TestServer server = new TestServer(connection -> {
                    while (true) {
                        connection.read();
                        connection.send("HTTP/1.1 200 OK\r\nContent-Length: " + body.length + "\r\n\r\n");
                        connection.socket().getOutputStream().write(body);
                    }
                });
                OnewriteClient client = OnewriteClient.create()) {
            for (int round = 0; round < 2; round++) {
                StreamedResponse response =
                        client.stream(Request.get(server.url()).build()).get(30, TimeUnit.SECONDS);
                assertArrayEquals(body, Eventually.of(Publishers.collectOneByOne(response.body())));
            }
            assertEquals(1, server.connections(), "a body read to its end leaves the connection reusable");
            client.stream(Request.get(server.url()).build())
                    .get(30, TimeUnit.SECONDS)
                    .close();
            try (StreamedResponse next =
                    client.stream(Request.get(server.url()).build()).get(30, TimeUnit.SECONDS)) {
                assertEquals(200, next.status());
            }
            assertEquals(2, server.connections(), "a body given up costs the connection");
        }
    }

    @Test
    void decompression() throws Exception {
        ByteArrayOutputStream packed = new ByteArrayOutputStream();
        try (GZIPOutputStream gzip = new GZIPOutputStream(packed)) {
            gzip.write("unpacked".getBytes(java.nio.charset.StandardCharsets.UTF_8));
        }
        try (TestServer server = new TestServer(connection -> {
                    while (true) {
                        connection.read();
                        connection.send("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: " + packed.size()
                                + "\r\n\r\n");
                        connection.socket().getOutputStream().write(packed.toByteArray());
                    }
                });
                OnewriteClient plain = OnewriteClient.create();
                OnewriteClient client =
                        OnewriteClient.builder().decompress(true).build()) {
            assertEquals("unpacked", client.execute(Request.get(server.url())).text());
            assertEquals("gzip, deflate", server.requests().get(0).header("accept-encoding"));
            assertArrayEquals(
                    packed.toByteArray(),
                    plain.execute(Request.get(server.url())).body());
        }
    }

    @Test
    void headHasNoBody() throws Exception {
        try (TestServer server = TestServer.answering("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n");
                OnewriteClient client = OnewriteClient.create()) {
            for (int i = 0; i < 2; i++) {
                Response response = client.execute(Request.method("HEAD", server.url()));
                assertEquals("5", response.headers().get("content-length"));
                assertEquals(0, response.body().length);
            }
            assertEquals(1, server.connections());
        }
    }
}
