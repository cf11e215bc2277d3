package io.github.onewrite.client;

import static io.github.onewrite.client.PoolTest.failure;
import static io.github.onewrite.client.PoolTest.get;
import static io.github.onewrite.testing.Eventually.until;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.onewrite.testing.TestServer;
import io.netty.handler.codec.DecoderException;
import io.netty.handler.codec.http.TooLongHttpContentException;
import io.netty.resolver.AbstractAddressResolver;
import io.netty.resolver.AddressResolver;
import io.netty.resolver.AddressResolverGroup;
import io.netty.util.concurrent.EventExecutor;
import io.netty.util.concurrent.Promise;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.net.ConnectException;
import java.net.InetSocketAddress;
import java.net.SocketTimeoutException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Calls that fail do so with Netty's exceptions; whatever is thrown, no call waits in vain. */
class FailureTest {
    @Test
    void nobodyListens() throws Exception {
        try (OnewriteClient client = OnewriteClient.create()) {
            Request request = Request.get("http://127.0.0.1:" + TestServer.unusedPort() + "/")
                    .build();
            assertInstanceOf(ConnectException.class, failure(client.send(request)));
            assertThrows(ConnectException.class, () -> client.execute(request));
        }
    }

    @Test
    void noHttpAndTooMuch() throws Exception {
        try (TestServer nonsense = TestServer.answering("nonsense\r\n\r\n");
                TestServer large = TestServer.answering("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n123456789");
                OnewriteClient client = OnewriteClient.builder().maxBody(8).build()) {
            assertInstanceOf(DecoderException.class, failure(client.send(get(nonsense))));
            assertThrows(IOException.class, () -> client.execute(get(nonsense)));
            assertInstanceOf(TooLongHttpContentException.class, failure(client.send(get(large))));
            until(() -> nonsense.closed() == 2 && large.closed() == 1);
        }
    }

    @ParameterizedTest
    @CsvSource({"response, ''", "idle, 'HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf'", "call, ''", "own, ''"})
    void timeLimits(String limit, String sent) throws Exception {
        Duration time = Duration.ofMillis(500);
        OnewriteClientBuilder builder = OnewriteClient.builder();
        switch (limit) {
            case "response" -> builder.responseTimeout(time);
            case "idle" -> builder.idleReadTimeout(time);
            case "call" -> builder.callTimeout(time);
            default -> {}
        }
        try (TestServer server = new TestServer(connection -> {
                    connection.read();
                    connection.send(sent);
                    connection.drain();
                });
                OnewriteClient client = builder.build()) {
            Request.Builder request = Request.get(server.url());
            CompletableFuture<Response> call = client.send(limit.equals("own") ? request.timeout(time) : request);
            SocketTimeoutException why = assertInstanceOf(SocketTimeoutException.class, failure(call));
            assertTrue(why.getMessage().endsWith(" in 500 ms"), why::getMessage);
            until(() -> server.closed() == 1);
        }
    }

    /** Each limit runs anew for each call of a kept connection, and not between calls. */
    @Test
    void limitsOfCallsDoNotAddUp() throws Exception {
        try (TestServer server = new TestServer(connection -> {
                    while (true) {
                        connection.read();
                        Thread.sleep(150);
                        connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n");
                        Thread.sleep(150);
                        connection.send("ok");
                    }
                });
                OnewriteClient client = OnewriteClient.builder()
                        .responseTimeout(Duration.ofMillis(600))
                        .idleReadTimeout(Duration.ofMillis(500))
                        .build()) {
            for (int i = 0; i < 4; i++) {
                assertEquals("ok", client.execute(get(server)).text());
            }
            Thread.sleep(700);
            assertEquals("ok", client.execute(get(server)).text());
            assertEquals(1, server.connections());
        }
    }

    /** What a resolver throws, errors included, ends the call at once. */
    @ParameterizedTest
    @ValueSource(strings = {"now", "later"})
    void aResolverThatThrows(String how) throws Exception {
        NoClassDefFoundError thrown = new NoClassDefFoundError("example");
        AddressResolverGroup<InetSocketAddress> resolver = new AddressResolverGroup<>() {
            @Override
            protected AddressResolver<InetSocketAddress> newResolver(EventExecutor executor) {
                return new AbstractAddressResolver<>(executor, InetSocketAddress.class) {
                    @Override
                    protected boolean doIsResolved(InetSocketAddress address) {
                        return false;
                    }

                    @Override
                    protected void doResolve(InetSocketAddress from, Promise<InetSocketAddress> promise) {
                        switch (how) {
                            case "now" -> throw thrown;
                            default -> executor.execute(() -> promise.tryFailure(thrown));
                        }
                    }

                    @Override
                    protected void doResolveAll(InetSocketAddress from, Promise<List<InetSocketAddress>> promise) {
                        promise.tryFailure(thrown);
                    }
                };
            }
        };
        try (OnewriteClient client = OnewriteClient.builder()
                .resolver(resolver)
                .connectTimeout(Duration.ZERO)
                .build()) {
            Throwable why = failure(client.send(Request.get("http://name.test/")));
            assertSame(thrown, why);
            assertSame(
                    thrown,
                    assertThrows(IOException.class, () -> client.execute(Request.get("http://name.test/")))
                            .getCause());
        }
    }

    /** What is thrown in code that depends on a future stays there. */
    @Test
    void aDependentThatThrows() throws Exception {
        try (TestServer server = TestServer.answering();
                OnewriteClient client = OnewriteClient.create()) {
            CompletableFuture<?> dependent = client.send(get(server)).thenApply(response -> {
                throw new AssertionError("example");
            });
            assertInstanceOf(CompletionException.class, failure(dependent));
            assertEquals("ok", client.execute(get(server)).text());
            assertEquals(1, server.connections());
        }
    }

    @Test
    void executeIsInterruptedAndRefusedOnTheLoop() throws Exception {
        try (TestServer server = TestServer.silent();
                TestServer answering = TestServer.answering();
                OnewriteClient client = OnewriteClient.create()) {
            Thread.currentThread().interrupt();
            assertThrows(InterruptedIOException.class, () -> client.execute(get(server)));
            assertTrue(Thread.interrupted());
            // A connection that was not ready when the call ended is kept for others.
            until(() -> server.requests().size() == server.closed());
            CompletableFuture<?> blocking = client.send(get(answering)).thenApply(response -> {
                try {
                    return client.execute(get(answering));
                } catch (IOException e) {
                    throw new CompletionException(e);
                }
            });
            assertInstanceOf(IllegalStateException.class, failure(blocking).getCause());
        }
    }
}
