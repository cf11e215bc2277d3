package io.github.onewrite.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.github.onewrite.ErrorKind;
import io.github.onewrite.OnewriteException;
import io.github.onewrite.Timing;
import io.github.onewrite.TimingEvent;
import io.github.onewrite.TimingListener;
import io.github.onewrite.client.internal.Transport;
import io.github.onewrite.testing.TestServer;
import io.netty.channel.Channel;
import io.netty.channel.socket.SocketChannel;
import io.netty.channel.socket.nio.NioSocketChannel;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Which requests are sent again on a new connection, and which never. */
class ResendTest {
    /** After one request that is answered, the second is delivered once, or twice if its method is idempotent. */
    @ParameterizedTest(name = "{0}: delivered {1} times")
    @CsvSource({"POST,1", "PATCH,1", "GET,2", "PUT,2", "DELETE,2"})
    void onALostReusedConnection(String method, int deliveries) throws Exception {
        try (TestServer server = TestServer.closingAt(2);
                OnewriteClient client = OnewriteClient.create()) {
            client.execute(Request.get(server.url()).build());
            Request request = Request.method(method, server.url())
                    .body(method.equals("GET") || method.equals("DELETE") ? Body.none() : Body.of("once"))
                    .build();
            if (deliveries == 1) {
                OnewriteException why = assertThrows(OnewriteException.class, () -> client.execute(request));
                assertEquals(ErrorKind.CLOSED, why.kind());
            } else {
                assertEquals(200, client.execute(request).status());
            }
            assertEquals(1 + deliveries, server.requests().size());
        }
    }

    /** The connection is lost before a byte is written: a GET may use another connection, a POST fails. */
    @ParameterizedTest(name = "{0}: {1} requests")
    @CsvSource({"GET,2", "POST,1"})
    void lostBeforeItIsUsed(String method, int requests) throws Exception {
        Transport transport = Transport.nio(1);
        List<Channel> channels = new CopyOnWriteArrayList<>();
        TimingListener closing = new TimingListener() {
            @Override
            public void onConnectionAcquired(TimingEvent.ConnectionAcquired event) {
                // On the event loop, so the channel is closed when this returns.
                if (event.reused()) {
                    channels.get(0).close();
                }
            }
        };
        try (TestServer server = TestServer.answering();
                OnewriteClient client = OnewriteClient.builder()
                        .eventLoopGroup(transport.group(), () -> {
                            SocketChannel made = new NioSocketChannel();
                            channels.add(made);
                            return made;
                        })
                        .listener(closing)
                        .build()) {
            client.execute(Request.get(server.url()).build());
            Request request = Request.method(method, server.url()).build();
            if (requests == 2) {
                assertEquals(200, client.execute(request).status());
            } else {
                OnewriteException why = assertThrows(OnewriteException.class, () -> client.execute(request));
                assertEquals(ErrorKind.CLOSED, why.kind());
            }
            assertEquals(requests, server.requests().size());
        } finally {
            transport.group().shutdownGracefully(0, 1, TimeUnit.SECONDS);
        }
    }

    @Test
    void aStreamIsNeverSentAgain() throws Exception {
        try (TestServer server = TestServer.closingAt(2);
                OnewriteClient client = OnewriteClient.create()) {
            client.execute(Request.get(server.url()).build());
            Request put = Request.method("PUT", server.url())
                    .body(Body.ofPublisher(Publishers.of("once")))
                    .build();
            assertThrows(OnewriteException.class, () -> client.execute(put));
            assertEquals(2, server.requests().size());
        }
    }

    /** A failure on a new connection is reported. */
    @Test
    void notOnANewConnection() throws Exception {
        try (TestServer server = new TestServer(connection -> connection.read());
                OnewriteClient client = OnewriteClient.create()) {
            assertThrows(
                    OnewriteException.class,
                    () -> client.execute(Request.get(server.url()).build()));
            assertEquals(1, server.requests().size());
        }
    }

    @Test
    void onceOnly() throws Exception {
        // The first two are answered when both have arrived, so that two connections are idle afterwards.
        CountDownLatch both = new CountDownLatch(2);
        try (TestServer server = new TestServer(connection -> {
                    if (connection.number() <= 2) {
                        connection.read();
                        both.countDown();
                        both.await();
                        connection.send(TestServer.OK);
                    }
                    connection.read();
                });
                OnewriteClient client = OnewriteClient.create()) {
            var first = client.send(Request.get(server.url()).build());
            var second = client.send(Request.get(server.url()).build());
            first.get();
            second.get();
            assertThrows(
                    OnewriteException.class,
                    () -> client.execute(Request.get(server.url()).build()));
            assertEquals(4, server.requests().size());
        }
    }

    /** Not after the response has begun. */
    @Test
    void notAfterTheResponseBegan() throws Exception {
        List<Timing> timings = new CopyOnWriteArrayList<>();
        try (TestServer server = new TestServer(connection -> {
                    connection.read();
                    connection.send(TestServer.OK);
                    connection.read();
                    connection.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf");
                });
                OnewriteClient client =
                        OnewriteClient.builder().onTiming(timings::add).build()) {
            client.execute(Request.get(server.url()).build());
            assertThrows(
                    OnewriteException.class,
                    () -> client.execute(Request.get(server.url()).build()));
            assertEquals(2, server.requests().size());
            assertEquals(1, timings.get(1).attempts().size());
        }
    }

    @Test
    void bothAttemptsAreTimed() throws Exception {
        List<Timing> timings = new CopyOnWriteArrayList<>();
        try (TestServer server = TestServer.closingAt(2);
                OnewriteClient client =
                        OnewriteClient.builder().onTiming(timings::add).build()) {
            client.execute(Request.get(server.url()).build());
            client.execute(Request.get(server.url()).build());
            Timing second = timings.get(1);
            assertEquals(2, second.attempts().size());
            assertEquals(true, second.attempts().get(0).reused().orElseThrow());
            assertEquals(false, second.attempts().get(1).reused().orElseThrow());
            assertEquals(200, second.status().orElseThrow());
        }
    }
}
