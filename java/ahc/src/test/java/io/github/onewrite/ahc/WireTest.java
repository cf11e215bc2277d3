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
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.asynchttpclient.AsyncHttpClient;
import org.asynchttpclient.BoundRequestBuilder;
import org.asynchttpclient.DefaultAsyncHttpClientConfig;
import org.asynchttpclient.Dsl;
import org.asynchttpclient.handler.TransferCompletionHandler;
import org.asynchttpclient.handler.TransferListener;
import org.asynchttpclient.request.body.generator.ByteArrayBodyGenerator;
import org.asynchttpclient.request.body.generator.InputStreamBodyGenerator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Each request is one segment, counted at the server, with NIO and epoll; the stock client is the control. */
@EnabledOnOs(OS.LINUX)
@SuppressWarnings("deprecation")
class WireTest {
    private static final byte[] SMALL = "x".repeat(200).getBytes(StandardCharsets.US_ASCII);

    @TempDir
    static Path dir;

    static Stream<Arguments> bodies() throws Exception {
        Path file = Files.write(dir.resolve("small"), SMALL);
        List<Arguments> all = new ArrayList<>();
        for (String transport : List.of("nio", "epoll")) {
            all.add(body(transport, "none", request -> {}));
            all.add(body(transport, "bytes", request -> request.setBody(SMALL)));
            all.add(body(transport, "text", request -> request.setBody("hello")));
            all.add(body(transport, "stream", request -> request.setBody(new ByteArrayInputStream(SMALL))));
            all.add(body(transport, "bytes generator", request -> request.setBody(new ByteArrayBodyGenerator(SMALL))));
            all.add(body(
                    transport,
                    "stream generator",
                    request -> request.setBody(new InputStreamBodyGenerator(new ByteArrayInputStream(SMALL)))));
            all.add(body(transport, "file", request -> request.setBody(file.toFile())));
            all.add(body(transport, "form", request -> request.addFormParam("tea", "green")));
        }
        return all.stream();
    }

    private static Arguments body(String transport, String name, Consumer<BoundRequestBuilder> body) {
        return Arguments.of(transport, name, body);
    }

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

    @ParameterizedTest(name = "{1} on {0}")
    @MethodSource("bodies")
    void oneSegment(String transport, String name, Consumer<BoundRequestBuilder> body) throws Exception {
        assertEquals(1, segments(OnewriteAhc.create().apply(Dsl.config()), transport, body), name);
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
                AsyncHttpClient client =
                        Dsl.asyncHttpClient(onewrite ? OnewriteAhc.create().apply(Dsl.config()) : Dsl.config())) {
            assertEquals(
                    200,
                    client.preparePost(server.url())
                            .setBody(stream)
                            .execute()
                            .get(30, TimeUnit.SECONDS)
                            .getStatusCode());
        }
    }

    /** The controls: a stream is split by the stock client, and with joining switched off. */
    @Test
    void stockAndSwitchedOff() throws Exception {
        Consumer<BoundRequestBuilder> stream = request -> request.setBody(new ByteArrayInputStream(SMALL));
        assertTrue(segments(Dsl.config(), "epoll", stream) > 1, "if the client joins these now, retire the joining");
        OnewriteConfig apart = OnewriteConfig.defaults().withCoalesceDisabled(true);
        assertTrue(segments(OnewriteAhc.create().config(apart).apply(Dsl.config()), "epoll", stream) > 1);
        DefaultAsyncHttpClientConfig.Builder builder = Dsl.config();
        OnewriteConfig off = OnewriteConfig.defaults().withDisabled(true);
        assertSame(builder, OnewriteAhc.create().config(off).apply(builder));
        assertTrue(builder.build().getRequestFilters().isEmpty());
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
                AsyncHttpClient client =
                        Dsl.asyncHttpClient(customized ? OnewriteAhc.create().apply(builder) : builder)) {
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
