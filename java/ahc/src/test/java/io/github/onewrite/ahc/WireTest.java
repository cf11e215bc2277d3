package io.github.onewrite.ahc;

import static io.github.onewrite.testing.SegmentServer.REQUESTS;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.onewrite.OnewriteConfig;
import io.github.onewrite.testing.SegmentServer;
import io.github.onewrite.testing.TestServer;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.epoll.EpollEventLoopGroup;
import io.netty.channel.nio.NioEventLoopGroup;
import io.netty.handler.codec.http.HttpHeaders;
import java.io.ByteArrayInputStream;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.asynchttpclient.AsyncHttpClient;
import org.asynchttpclient.BoundRequestBuilder;
import org.asynchttpclient.DefaultAsyncHttpClientConfig;
import org.asynchttpclient.Dsl;
import org.asynchttpclient.handler.TransferCompletionHandler;
import org.asynchttpclient.handler.TransferListener;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** In how many segments requests leave, counted at the server, with NIO and epoll; the stock client is the control. */
@EnabledOnOs(OS.LINUX)
@SuppressWarnings("deprecation")
class WireTest {
    private static final byte[] SMALL = "x".repeat(200).getBytes(StandardCharsets.US_ASCII);

    @TempDir
    static Path dir;

    private static EventLoopGroup loops(String transport) {
        return transport.equals("epoll") ? new EpollEventLoopGroup(1) : new NioEventLoopGroup(1);
    }

    private static int segments(
            DefaultAsyncHttpClientConfig.Builder builder, String transport, Consumer<BoundRequestBuilder> body)
            throws Exception {
        EventLoopGroup loops = loops(transport);
        try (SegmentServer server = new SegmentServer();
                AsyncHttpClient client = Dsl.asyncHttpClient(builder.setEventLoopGroup(loops))) {
            for (int i = 0; i < REQUESTS; i++) {
                BoundRequestBuilder request = client.preparePost(server.url());
                body.accept(request);
                assertEquals(200, request.execute().get(30, TimeUnit.SECONDS).getStatusCode());
            }
            assertEquals(REQUESTS, server.segments().size());
            return server.mode();
        } finally {
            loops.shutdownGracefully(0, 5, TimeUnit.SECONDS).await(30, TimeUnit.SECONDS);
        }
    }

    /** AsyncHttpClient sends a body in memory with its head, and the terminator of a stream apart, with onewrite too. */
    @ParameterizedTest
    @ValueSource(strings = {"nio", "epoll"})
    void theWritesAreTheClients(String transport) throws Exception {
        List<Consumer<BoundRequestBuilder>> bodies =
                List.of(request -> request.setBody(SMALL), request -> request.setBody(new ByteArrayInputStream(SMALL)));
        for (Consumer<BoundRequestBuilder> body : bodies) {
            int stock = segments(Dsl.config(), transport, body);
            assertEquals(bodies.indexOf(body) + 1, stock);
            DefaultAsyncHttpClientConfig.Builder timed =
                    OnewriteAhc.create().onTiming(timing -> {}).apply(Dsl.config());
            assertEquals(stock, segments(timed, transport, body));
        }
    }

    /** AsyncHttpClient reads an InputStream on its event loop. What it has sent before the stream blocks is sent. */
    @ParameterizedTest(name = "with onewrite {0}")
    @ValueSource(booleans = {false, true})
    void nothingIsHeldWhileAStreamBlocks(boolean onewrite) throws Exception {
        CountDownLatch arrived = new CountDownLatch(1);
        InputStream stream = new InputStream() {
            private int reads;

            @Override
            public int read() {
                byte[] one = new byte[1];
                return read(one, 0, 1) < 0 ? -1 : one[0];
            }

            @Override
            public int read(byte[] into, int offset, int length) {
                if (++reads == 4) {
                    try {
                        assertTrue(arrived.await(10, TimeUnit.SECONDS), "nothing had arrived");
                    } catch (InterruptedException e) {
                        throw new IllegalStateException(e);
                    }
                }
                return reads > 4 ? -1 : Math.min(length, 10);
            }
        };
        try (TestServer server = new TestServer(connection -> {
                    connection.readHead();
                    arrived.countDown();
                    connection.send(TestServer.OK);
                    connection.drain();
                });
                AsyncHttpClient client = Dsl.asyncHttpClient(
                        onewrite ? OnewriteAhc.create().onTiming(timing -> {}).apply(Dsl.config()) : Dsl.config())) {
            assertEquals(
                    200,
                    client.preparePost(server.url())
                            .setBody(stream)
                            .execute()
                            .get(30, TimeUnit.SECONDS)
                            .getStatusCode());
        }
    }

    @Test
    void switchedOff() {
        DefaultAsyncHttpClientConfig.Builder builder = Dsl.config();
        OnewriteConfig off = OnewriteConfig.defaults().withDisabled(true);
        assertSame(builder, OnewriteAhc.create().config(off).apply(builder));
        assertSame(null, builder.build().getHttpAdditionalChannelInitializer());
    }

    /** What a listener of transfers hears of a large file adds up to the file, as with the stock client. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void progressOfALargeFile(boolean customized) throws Exception {
        Path file = Files.write(dir.resolve("progress"), new byte[3_000_000]);
        List<Long> sent = new CopyOnWriteArrayList<>();
        TransferCompletionHandler handler = new TransferCompletionHandler();
        handler.addTransferListener(new Sent(sent));
        DefaultAsyncHttpClientConfig.Builder builder = Dsl.config();
        try (TestServer server = TestServer.answering();
                AsyncHttpClient client = Dsl.asyncHttpClient(
                        customized ? OnewriteAhc.create().onTiming(timing -> {}).apply(builder) : builder)) {
            client.preparePost(server.url())
                    .setBody(file.toFile())
                    .execute(handler)
                    .get(60, TimeUnit.SECONDS);
        }
        assertEquals(3_000_000L, sent.stream().mapToLong(Long::longValue).sum());
    }

    /** Keeps the bytes of each step. */
    private record Sent(List<Long> amounts) implements TransferListener {
        @Override
        public void onRequestHeadersSent(HttpHeaders headers) {}

        @Override
        public void onResponseHeadersReceived(HttpHeaders headers) {}

        @Override
        public void onBytesReceived(byte[] bytes) {}

        @Override
        public void onBytesSent(long amount, long current, long total) {
            amounts.add(amount);
        }

        @Override
        public void onRequestResponseCompleted() {}

        @Override
        public void onThrowable(Throwable error) {}
    }
}
