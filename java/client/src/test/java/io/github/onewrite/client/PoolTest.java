package io.github.onewrite.client;

import static io.github.onewrite.testing.Eventually.until;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.onewrite.testing.Eventually;
import io.github.onewrite.testing.Footprint;
import io.github.onewrite.testing.TestServer;
import io.netty.channel.ChannelFactory;
import io.netty.channel.ReflectiveChannelFactory;
import io.netty.channel.nio.NioEventLoopGroup;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.netty.resolver.AddressResolver;
import io.netty.resolver.AddressResolverGroup;
import io.netty.resolver.DefaultNameResolver;
import io.netty.resolver.InetSocketAddressResolver;
import io.netty.util.concurrent.EventExecutor;
import io.netty.util.concurrent.Promise;
import java.lang.ref.WeakReference;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketTimeoutException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Connections: how many, when they are used again, and when they are not. */
class PoolTest {
    static Request get(TestServer server) {
        return Request.get(server.url()).build();
    }

    static Throwable failure(CompletableFuture<?> call) throws Exception {
        return Eventually.of(call.handle((response, why) -> why));
    }

    @Test
    void theQueueIsBoundedAndItsTimeLimited() throws Exception {
        CountDownLatch go = new CountDownLatch(1);
        try (TestServer server = TestServer.answeringAfter(go, TestServer.OK);
                OnewriteClient client = OnewriteClient.builder()
                        .maxConnectionsPerOrigin(1)
                        .maxPendingPerOrigin(2)
                        .queueTimeout(Duration.ofMillis(200))
                        .build()) {
            CompletableFuture<Response> first = client.send(get(server));
            CompletableFuture<Response> late = client.send(get(server));
            CompletableFuture<Response> left = client.send(get(server));
            assertEquals(
                    "Too many outstanding acquire operations",
                    failure(client.send(get(server))).getMessage());
            left.cancel(true);
            assertInstanceOf(TimeoutException.class, failure(late));
            go.countDown();
            assertEquals(200, Eventually.of(first).status());
            assertEquals(200, client.execute(get(server)).status());
            assertEquals(1, server.connections());
        }
    }

    /** The server answers before it has read the body: what is left of it must not become the next request. */
    @Test
    void theConnectionOfAnEarlyAnswerIsNotUsedAgain() throws Exception {
        try (TestServer server = new TestServer(connection -> {
                    connection.readHead();
                    connection.send(TestServer.OK);
                    connection.drain();
                });
                OnewriteClient client = OnewriteClient.create()) {
            for (int i = 0; i < 2; i++) {
                Body unending = Body.ofPublisher(subscriber -> subscriber.onSubscribe(Publishers.silent()));
                assertEquals(
                        "ok",
                        client.execute(Request.post(server.url(), unending)).text());
            }
            until(() -> server.closed() == 2);
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void anOldConnectionIsNotUsedAgain(boolean idle) throws Exception {
        OnewriteClientBuilder builder = OnewriteClient.builder();
        Duration limit = Duration.ofMillis(100);
        try (TestServer server = TestServer.answering();
                OnewriteClient client = (idle ? builder.idleLimit(limit) : builder.maxLifetime(limit)).build()) {
            client.execute(get(server));
            Thread.sleep(150);
            client.execute(get(server));
            assertEquals(2, server.connections());
            until(() -> server.closed() == 1);
        }
    }

    @Test
    void aCallThatIsGivenUpClosesItsConnection() throws Exception {
        try (TestServer server = TestServer.silent();
                OnewriteClient client = OnewriteClient.create()) {
            List<Consumer<CompletableFuture<Response>>> ways = List.of(
                    call -> call.cancel(true),
                    call -> call.orTimeout(1, TimeUnit.MILLISECONDS),
                    call -> call.completeOnTimeout(null, 1, TimeUnit.MILLISECONDS));
            for (int i = 0; i < ways.size(); i++) {
                int calls = i + 1;
                CompletableFuture<Response> call = client.send(get(server));
                // Before that it may be connecting: then its connection is kept for others.
                until(() -> server.requests().size() == calls);
                ways.get(i).accept(call);
                until(() -> server.closed() == calls);
            }
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void closeEndsEveryCall(boolean ownLoops) throws Exception {
        try (TestServer server = TestServer.silent();
                Transports.Standing standing =
                        Transports.nio(OnewriteClient.builder().maxConnectionsPerOrigin(1));
                OnewriteClient own =
                        OnewriteClient.builder().maxConnectionsPerOrigin(1).build()) {
            OnewriteClient client = ownLoops ? own : standing.client();
            List<CompletableFuture<Response>> calls = List.of(client.send(get(server)), client.send(get(server)));
            until(() -> server.requests().size() == 1);
            client.close();
            client.close();
            for (CompletableFuture<Response> call : calls) {
                assertTrue(failure(call) instanceof Exception);
            }
            assertEquals(
                    "the client is closed", failure(client.send(get(server))).getMessage());
        }
    }

    /** With a blocking resolver each of them would look the name up, one after the other. */
    @Test
    void aClosedClientResolvesNothing() throws Exception {
        AtomicInteger lookups = new AtomicInteger();
        CountDownLatch go = new CountDownLatch(1);
        try (TestServer server = TestServer.silent();
                OnewriteClient client = OnewriteClient.builder()
                        .maxConnectionsPerOrigin(1)
                        .resolver(new DefaultAddressResolverGroupCounting(lookups, go))
                        .build()) {
            List<CompletableFuture<Response>> calls = new ArrayList<>();
            for (int i = 0; i < 5; i++) {
                calls.add(client.send(Request.get("http://localhost:" + server.port() + "/")));
            }
            until(() -> lookups.get() == 1);
            client.close();
            go.countDown();
            for (CompletableFuture<Response> call : calls) {
                assertEquals("the client is closed", failure(call).getMessage());
            }
            assertEquals(1, lookups.get());
        }
    }

    private static final class DefaultAddressResolverGroupCounting extends AddressResolverGroup<InetSocketAddress> {
        private final AtomicInteger lookups;
        private final CountDownLatch go;

        private DefaultAddressResolverGroupCounting(AtomicInteger lookups, CountDownLatch go) {
            this.lookups = lookups;
            this.go = go;
        }

        @Override
        protected AddressResolver<InetSocketAddress> newResolver(EventExecutor executor) {
            return new InetSocketAddressResolver(executor, new DefaultNameResolver(executor) {
                @Override
                protected void doResolve(String name, Promise<InetAddress> found) throws Exception {
                    lookups.incrementAndGet();
                    assertTrue(go.await(30, TimeUnit.SECONDS));
                    super.doResolve(name, found);
                }
            });
        }
    }

    /** Sockets to origins that nobody calls again are closed. */
    @Test
    void anIdleConnectionIsClosed() throws Exception {
        try (TestServer server = TestServer.answering();
                OnewriteClient client = OnewriteClient.builder()
                        .idleLimit(Duration.ofMillis(200))
                        .build()) {
            client.execute(get(server));
            until(() -> server.closed() == 1);
        }
    }

    /** A program that calls many origins once keeps nothing of them: of those that close, of those that cannot be reached. */
    @ParameterizedTest
    @ValueSource(strings = {"answered", "closed", "refused", "a bad header"})
    void anOriginIsForgotten(String how) throws Exception {
        try (TestServer server = how.equals("closed")
                        ? TestServer.answeringOnce("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
                        : TestServer.answering();
                OnewriteClient client = OnewriteClient.builder()
                        .idleLimit(Duration.ofMillis(200))
                        .build()) {
            String url = how.equals("refused") ? "http://127.0.0.1:" + TestServer.unusedPort() + "/" : server.url();
            Request.Builder request = Request.get(url);
            Throwable why = failure(client.send(how.equals("a bad header") ? request.header("a b", "") : request));
            assertEquals(how.equals("answered") || how.equals("closed"), why == null, how);
            until(client.pools::isEmpty);
        }
    }

    /** A call that is given up is out of the queue at once, and so is its body. */
    @Test
    void aCallThatIsGivenUpLeavesTheQueue() throws Exception {
        List<WeakReference<?>> bodies = new ArrayList<>();
        try (TestServer server = TestServer.silent();
                OnewriteClient client = OnewriteClient.builder()
                        .maxConnectionsPerOrigin(1)
                        .maxPendingPerOrigin(2)
                        .build()) {
            client.send(get(server));
            for (int i = 0; i < 5; i++) {
                byte[] body = new byte[1 << 20];
                bodies.add(new WeakReference<>(body));
                CompletableFuture<Response> call = client.send(Request.post(server.url(), Body.of(body)));
                body = null;
                call.cancel(true);
            }
            Footprint.assertUnreachable(bodies);
            assertInstanceOf(
                    SocketTimeoutException.class,
                    failure(client.send(Request.get(server.url()).timeout(Duration.ofMillis(100)))));
        }
    }

    /** A client that is dropped without a close leaves nothing on event loops that live on, once its connections are swept. */
    @Test
    @SuppressWarnings("deprecation") // Netty 4.1 has no other group
    void aDroppedClientIsCollected() throws Exception {
        NioEventLoopGroup group = new NioEventLoopGroup(1);
        try (TestServer server =
                TestServer.answeringOnce("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")) {
            ChannelFactory<NioSocketChannel> ofPool = new ReflectiveChannelFactory<>(NioSocketChannel.class);
            WeakReference<Object> dropped = new WeakReference<>(ofPool);
            OnewriteClient client = OnewriteClient.builder()
                    .eventLoopGroup(group, ofPool)
                    .idleLimit(Duration.ofSeconds(1))
                    .build();
            assertEquals(200, client.execute(get(server)).status());
            ofPool = null;
            client = null;
            until(() -> {
                System.gc();
                return dropped.get() == null;
            });
        } finally {
            group.shutdownGracefully(0, 1, TimeUnit.SECONDS).await(30, TimeUnit.SECONDS);
        }
    }
}
