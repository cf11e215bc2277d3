package io.github.onewrite.client;

import static io.github.onewrite.testing.Eventually.failure;
import static io.github.onewrite.testing.Eventually.until;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.onewrite.ErrorKind;
import io.github.onewrite.OnewriteException;
import io.github.onewrite.Phase;
import io.github.onewrite.client.internal.Transport;
import io.github.onewrite.testing.Eventually;
import io.github.onewrite.testing.Identity;
import io.github.onewrite.testing.TestServer;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelOption;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.channel.ChannelOutboundHandlerAdapter;
import io.netty.channel.ChannelPromise;
import io.netty.channel.FileRegion;
import io.netty.channel.socket.nio.NioSocketChannel;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.SocketAddress;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Sending large bodies: idleReadTimeout with a slow peer, and files that are sent by sendfile. */
class SendingTest {
    private static final Duration IDLE = Duration.ofSeconds(60);

    /** More than what socket buffers of this size hold between the two ends. */
    private static final int STEP = 512 * 1024;

    private static final int BUFFER = 32 * 1024;

    @TempDir
    static Path dir;

    private static Identity identity;

    @BeforeAll
    static void certificate() throws Exception {
        identity = Identity.localhost();
    }

    /** Reads one step of the body whenever it is allowed to, and answers after the last. */
    private static final class SlowServer implements AutoCloseable {
        private final Semaphore allowed = new Semaphore(0);
        private final Semaphore read = new Semaphore(0);
        private final TestServer server;

        SlowServer(boolean tls, int steps) throws Exception {
            ServerSocket listener = tls
                    ? identity.serverContext(null).getServerSocketFactory().createServerSocket()
                    : new ServerSocket();
            listener.setReceiveBufferSize(BUFFER);
            listener.bind(new java.net.InetSocketAddress(InetAddress.getByName("localhost"), 0));
            server = new TestServer(listener, connection -> {
                while (true) {
                    connection.readHead();
                    for (int i = 0; i < steps; i++) {
                        allowed.acquire();
                        connection.in().skipNBytes(STEP);
                        read.release();
                    }
                    connection.send(TestServer.OK);
                }
            });
        }

        /** Lets the server read one step, and waits for it: the client's socket has taken more bytes then. */
        void readOn() throws InterruptedException {
            allowed.release();
            assertTrue(read.tryAcquire(60, TimeUnit.SECONDS), "nothing came in 60 s");
        }

        @Override
        public void close() throws Exception {
            server.close();
        }
    }

    private static Body body(String what, int size) throws Exception {
        byte[] bytes = new byte[size];
        return switch (what) {
            case "file" -> Body.ofFile(Files.write(dir.resolve("large"), bytes));
            case "chunk" ->
                Body.ofPublisher(
                        subscriber -> subscriber.onSubscribe(new java.util.concurrent.Flow.Subscription() {
                            private boolean begun;

                            @Override
                            public void request(long n) {
                                if (!begun) {
                                    begun = true;
                                    subscriber.onNext(ByteBuffer.wrap(bytes));
                                    subscriber.onComplete();
                                }
                            }

                            @Override
                            public void cancel() {}
                        }),
                        size);
            default -> Body.of(bytes);
        };
    }

    /** The last MiB of bytes in memory, a chunk of a publisher's and a file region are one write each. */
    @ParameterizedTest(name = "{1} over {2} on {0}")
    @CsvSource({
        "nio, file, http, 6",
        "nio, file, https, 6",
        "nio, bytes, http, 2",
        "nio, bytes, https, 2",
        "nio, chunk, http, 6",
        "nio, chunk, https, 6",
        "epoll, file, http, 6",
        "epoll, bytes, http, 2",
        "epoll, chunk, http, 6",
        "io_uring, file, http, 6",
        "io_uring, bytes, http, 2",
        "io_uring, chunk, http, 6"
    })
    void aSlowPeerDoesNotTimeOut(String transport, String what, String scheme, int steps) throws Exception {
        FakeTime time = new FakeTime();
        try (SlowServer slow = new SlowServer(scheme.equals("https"), steps);
                Transports.Standing standing = Transports.build(
                        transport,
                        OnewriteClient.builder()
                                .time(time)
                                .trust(identity.chainPem())
                                .idleReadTimeout(IDLE)
                                .channelOption(ChannelOption.SO_SNDBUF, BUFFER))) {
            OnewriteClient client = standing.client();
            String url = scheme + "://localhost:" + slow.server.port() + "/";
            Body body = body(what, steps * STEP);

            CompletableFuture<Response> call =
                    client.send(Request.post(url, body).build());
            until(() -> client.stats().active() == 1);
            time.advance(IDLE.multipliedBy(3).dividedBy(5));
            for (int i = 0; i < steps; i++) {
                slow.readOn();
                if (i < steps - 1) {
                    time.advance(IDLE.multipliedBy(3).dividedBy(5));
                    assertFalse(call.isDone(), "after step " + i);
                }
            }
            assertEquals(200, Eventually.of(call).status());

            CompletableFuture<Response> stuck =
                    client.send(Request.post(url, body).build());
            slow.readOn();
            beSilent(time, stuck);
            OnewriteException why = failure(stuck);
            assertEquals(ErrorKind.TIMEOUT, why.kind());
            assertEquals(Phase.SEND, why.phase().orElseThrow());
            assertTrue(why.getMessage().contains("idleReadTimeout"), why.getMessage());
            // A peer that is gone, because SslHandler tries for 3 s to send close_notify to one that does not read.
            slow.close();
        }
    }

    /** A publisher that publishes nothing counts as silence. */
    @Test
    void aSilentPublisher() throws Exception {
        FakeTime time = new FakeTime();
        CountDownLatch subscribed = new CountDownLatch(1);
        try (TestServer server = TestServer.answering();
                OnewriteClient client = OnewriteClient.builder()
                        .time(time)
                        .idleReadTimeout(IDLE)
                        .build()) {
            CompletableFuture<Response> call =
                    client.send(Request.post(server.url(), Body.ofPublisher(subscriber -> subscribed.countDown())));
            assertTrue(subscribed.await(60, TimeUnit.SECONDS), "the time limit is set before the publisher is called");
            time.advance(IDLE.minusMillis(1));
            assertFalse(call.isDone());
            beSilent(time, call);
            assertEquals(ErrorKind.TIMEOUT, failure(call).kind());
        }
    }

    /** Until the call ends: a write may complete only now, which starts the silence again. */
    private static void beSilent(FakeTime time, CompletableFuture<?> call) throws Exception {
        for (int turn = 0; !call.isDone() && turn < 1000; turn++) {
            time.advance(IDLE.dividedBy(4).plusMillis(1));
            Thread.sleep(10);
        }
    }

    /** A peer that takes all bytes at once, without a socket. */
    private static final class Bottomless extends NioSocketChannel {
        private boolean connected;

        @Override
        public boolean isActive() {
            return connected && isOpen();
        }

        @Override
        protected boolean doConnect(SocketAddress remote, SocketAddress local) {
            connected = true;
            return true;
        }

        @Override
        protected void doBeginRead() {}

        @Override
        protected void doWrite(ChannelOutboundBuffer buffers) {
            while (buffers.current() != null) {
                buffers.remove();
            }
        }
    }

    /** A publisher that always has a chunk, and a peer that always takes it, leave the event loop to others. */
    @Test
    void anEndlessPublisherSharesItsLoop() throws Exception {
        Transport transport = Transport.nio(1);
        try (OnewriteClient client = OnewriteClient.builder()
                .eventLoopGroup(transport.group(), Bottomless::new)
                .build()) {
            AtomicInteger published = new AtomicInteger();
            CompletableFuture<Response> call =
                    client.send(Request.post("http://127.0.0.1:1/", Body.ofPublisher(Publishers.endless(published))));
            until(() -> published.get() > 100);
            call.cancel(true);
            until(() -> client.stats().active() == 0);
        } finally {
            transport.group().shutdownGracefully(0, 1, TimeUnit.SECONDS);
        }
    }

    /** A channel that notes what is written to the transport. */
    private static final class Watched extends NioSocketChannel {
        private static final Queue<Object> WRITTEN = new ConcurrentLinkedQueue<>();

        Watched() {
            pipeline().addFirst(new ChannelOutboundHandlerAdapter() {
                @Override
                public void write(ChannelHandlerContext ctx, Object message, ChannelPromise promise) {
                    WRITTEN.add(message instanceof FileRegion region ? region.count() - region.transferred() : "bytes");
                    ctx.write(message, promise);
                }
            });
        }
    }

    /** On a plain socket a file is sent as a file region, except for the part that leaves with the head. */
    @Test
    void aFileIsHandedToTheKernel() throws Exception {
        int size = 1_000_000;
        int joined = 16 * 1024;
        Transport transport = Transport.nio(1);
        try (SlowServer tls = new SlowServer(true, 1);
                TestServer plain = TestServer.answering();
                OnewriteClient client = OnewriteClient.builder()
                        .trust(identity.chainPem())
                        .eventLoopGroup(transport.group(), Watched::new)
                        .build()) {
            Watched.WRITTEN.clear();
            client.execute(Request.post(plain.url(), body("file", size)));
            List<Long> regions = Watched.WRITTEN.stream()
                    .filter(Long.class::isInstance)
                    .map(Long.class::cast)
                    .toList();
            assertEquals(1, regions.size());
            assertTrue(regions.get(0) >= size - joined && regions.get(0) < size, regions.toString());

            Watched.WRITTEN.clear();
            client.execute(Request.post(plain.url(), body("file", 200)));
            assertFalse(Watched.WRITTEN.stream().anyMatch(Long.class::isInstance), "a small one leaves with the head");

            Watched.WRITTEN.clear();
            tls.allowed.release();
            client.execute(Request.post("https://localhost:" + tls.server.port() + "/", body("file", STEP)));
            assertFalse(Watched.WRITTEN.stream().anyMatch(Long.class::isInstance), "TLS needs the bytes");
            assertTrue(Watched.WRITTEN.size() > 1);
        } finally {
            transport.group().shutdownGracefully(0, 1, TimeUnit.SECONDS);
        }
    }
}
