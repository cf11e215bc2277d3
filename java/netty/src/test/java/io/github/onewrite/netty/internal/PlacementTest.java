package io.github.onewrite.netty.internal;

import static io.github.onewrite.testing.SegmentServer.REQUESTS;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.onewrite.ErrorKind;
import io.github.onewrite.Timing;
import io.github.onewrite.netty.OnewriteNetty;
import io.github.onewrite.testing.Identity;
import io.github.onewrite.testing.Records;
import io.github.onewrite.testing.SegmentServer;
import io.github.onewrite.testing.TestServer;
import io.github.onewrite.testing.Warnings;
import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOutboundHandlerAdapter;
import io.netty.channel.ChannelPipeline;
import io.netty.channel.ChannelPromise;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.channel.nio.NioEventLoopGroup;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.netty.handler.codec.http.DefaultFullHttpRequest;
import io.netty.handler.codec.http.DefaultHttpRequest;
import io.netty.handler.codec.http.DefaultLastHttpContent;
import io.netty.handler.codec.http.FullHttpResponse;
import io.netty.handler.codec.http.HttpChunkedInput;
import io.netty.handler.codec.http.HttpClientCodec;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpObjectAggregator;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.codec.http.LastHttpContent;
import io.netty.handler.ssl.ApplicationProtocolNames;
import io.netty.handler.ssl.ApplicationProtocolNegotiationHandler;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import io.netty.handler.ssl.SslHandler;
import io.netty.handler.stream.ChunkedStream;
import io.netty.handler.stream.ChunkedWriteHandler;
import io.netty.util.ReferenceCountUtil;
import java.io.ByteArrayInputStream;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Pipelines that get their codec after onewrite was applied, as those of AWS SDK v2 and Armeria do. */
@SuppressWarnings("deprecation") // NioEventLoopGroup is in Netty 4.1 and 4.2.
class PlacementTest {
    private static final String ANSWER = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";

    private static EventLoopGroup group;

    private final Records records = new Records();
    private final OnewriteNetty onewrite = OnewriteNetty.create();
    private final BlockingQueue<Integer> answers = new LinkedBlockingQueue<>();
    private final Flushes flushes = new Flushes();

    @BeforeAll
    static void start() {
        group = new NioEventLoopGroup(1);
    }

    @AfterAll
    static void stop() {
        group.shutdownGracefully(0, 1, TimeUnit.SECONDS);
    }

    private final class Answers extends SimpleChannelInboundHandler<FullHttpResponse> {
        @Override
        protected void channelRead0(ChannelHandlerContext ctx, FullHttpResponse response) {
            answers.add(response.status().code());
        }
    }

    private ChannelHandler[] http() {
        return new ChannelHandler[] {new HttpClientCodec(), new HttpObjectAggregator(65536), new Answers()};
    }

    private static HttpRequest head(HttpMethod method) {
        HttpRequest head = new DefaultHttpRequest(HttpVersion.HTTP_1_1, method, "/items");
        head.headers().set("host", "localhost").set("content-length", 200);
        return head;
    }

    private static DefaultLastHttpContent body() {
        return new DefaultLastHttpContent(Unpooled.wrappedBuffer(new byte[200]));
    }

    private static void post(Channel channel) {
        channel.writeAndFlush(head(HttpMethod.POST));
        channel.writeAndFlush(body());
    }

    private static ByteBuf text(String text) {
        return Unpooled.copiedBuffer(text, StandardCharsets.ISO_8859_1);
    }

    private void assertAnswered() throws InterruptedException {
        assertEquals(200, answers.poll(30, TimeUnit.SECONDS));
    }

    private String coalesce() {
        return onewrite.status().patches().get("coalesce");
    }

    /** The channel is made by a factory, which customizes it before the client's initializer runs: AWS SDK v2. */
    private Channel connect(String url, boolean ours, ChannelHandler initializer) throws Exception {
        return connect(url, ours, initializer, connected -> {});
    }

    private Channel connect(String url, boolean ours, ChannelHandler initializer, ChannelFutureListener connected)
            throws Exception {
        return new Bootstrap()
                .group(group)
                .channelFactory(() -> {
                    Channel channel = new NioSocketChannel();
                    if (ours) {
                        onewrite.apply(channel.pipeline());
                    }
                    return channel;
                })
                .handler(initializer)
                .connect("127.0.0.1", URI.create(url).getPort())
                .addListener(connected)
                .sync()
                .channel();
    }

    private ChannelInitializer<Channel> initializer(ChannelHandler... handlers) {
        return new ChannelInitializer<>() {
            @Override
            protected void initChannel(Channel channel) {
                channel.pipeline().addLast(handlers);
            }
        };
    }

    @Test
    @EnabledOnOs(OS.LINUX)
    void aChannelFactoryMakesOneSegmentOfTwo() throws Exception {
        for (boolean ours : new boolean[] {false, true}) {
            try (SegmentServer server = new SegmentServer()) {
                Channel channel = connect(server.url(), ours, initializer(http()));
                for (int i = 0; i < REQUESTS; i++) {
                    channel.eventLoop().execute(() -> post(channel));
                    assertAnswered();
                }
                assertEquals(
                        ours ? 1 : 2, server.mode(), () -> server.segments().toString());
                channel.close().get(30, TimeUnit.SECONDS);
            }
        }
        assertEquals("on", coalesce());
    }

    /** The codec comes with the end of the handshake, and the first request in the same read: it passes as in stock. */
    @Test
    void afterAlpnTheSecondRequestLeavesInOneFlush() throws Exception {
        records.addTo(onewrite);
        try (TestServer server = TestServer.answering(Identity.listener())) {
            SslContext context = SslContextBuilder.forClient()
                    .trustManager(Identity.localhost().chainPem().toFile())
                    .build();
            Channel channel = connect(server.url(), true, new ChannelInitializer<Channel>() {
                @Override
                protected void initChannel(Channel channel) {
                    ChannelPipeline pipeline = channel.pipeline();
                    SslHandler tls = context.newHandler(channel.alloc(), "localhost", server.port());
                    pipeline.addFirst(flushes);
                    pipeline.addLast(tls, new ApplicationProtocolNegotiationHandler(ApplicationProtocolNames.HTTP_1_1) {
                        @Override
                        protected void configurePipeline(ChannelHandlerContext ctx, String protocol) {
                            ctx.pipeline().addLast(http());
                            flushes.sizes.clear();
                            post(ctx.channel());
                        }
                    });
                }
            });
            assertAnswered();
            flushes.sizes.clear();
            channel.eventLoop().execute(() -> post(channel));
            assertAnswered();
            assertEquals(1, flushes.sizes.size(), flushes.sizes::toString);
            Timing second = records.next();
            assertTrue(second.url().startsWith("https://localhost/items"), second::url);
            assertTrue(second.reused().orElseThrow());
            assertEquals("on", coalesce());
            channel.close().get(30, TimeUnit.SECONDS);
        }
    }

    private static void assertAround(Channel channel) {
        List<String> names = channel.pipeline().names();
        int codec = names.indexOf("HttpClientCodec#0");
        assertEquals(List.of(Wire.NAME, "HttpClientCodec#0", Joiner.NAME), names.subList(codec - 1, codec + 2));
    }

    @Test
    void aCodecThatComesLaterIsFound() {
        EmbeddedChannel channel = new EmbeddedChannel();
        records.addTo(onewrite).apply(onewrite.apply(channel.pipeline()));
        channel.pipeline().addLast(new HttpClientCodec());
        channel.pipeline().fireChannelReadComplete();
        assertAround(channel);
        assertNull(channel.pipeline().get(Placement.NAME));
        channel.finishAndReleaseAll();
    }

    /** AWS SDK v2 sends a CONNECT through a codec, and adds another one for what follows, in the read of the answer or later. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aCodecThatIsReplacedIsFollowed(boolean inTheRead) throws Exception {
        EmbeddedChannel channel = new EmbeddedChannel();
        channel.pipeline().addLast("first", new HttpClientCodec());
        channel.pipeline().addLast("tunnel", new ChannelInboundHandlerAdapter() {
            @Override
            public void channelRead(ChannelHandlerContext ctx, Object message) {
                if (inTheRead && message instanceof LastHttpContent) {
                    ctx.pipeline().remove("first");
                    ctx.pipeline().addLast(http());
                }
                ReferenceCountUtil.release(message);
            }
        });
        records.addTo(onewrite).apply(onewrite.apply(channel.pipeline()));
        channel.writeOutbound(new DefaultFullHttpRequest(HttpVersion.HTTP_1_1, HttpMethod.CONNECT, "localhost:80"));
        channel.writeInbound(text("HTTP/1.1 200 OK\r\n\r\n"));
        channel.pipeline().remove("tunnel");
        if (!inTheRead) {
            channel.pipeline().remove("first");
            channel.pipeline().addLast(http());
        }
        for (int i = 0; i < 3; i++) {
            post(channel);
            channel.writeInbound(text("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"));
            if (i > 0 || inTheRead) {
                assertEquals("http://localhost/items", records.next().url());
            }
            assertAround(channel);
        }
        assertTrue(records.isEmpty());
        channel.finishAndReleaseAll();
    }

    /** Another protocol: what was above and below the codec goes, and no record says 101. */
    @Test
    void anUpgradeLeavesThePipelineAlone() {
        EmbeddedChannel channel = new EmbeddedChannel(new HttpClientCodec());
        records.addTo(onewrite).apply(channel.pipeline());
        HttpRequest upgrade = new DefaultFullHttpRequest(HttpVersion.HTTP_1_1, HttpMethod.GET, "/");
        upgrade.headers().set("upgrade", "websocket");
        channel.writeOutbound(upgrade);
        channel.writeInbound(text("HTTP/1.1 101 Yes\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"));
        channel.pipeline().remove(HttpClientCodec.class);
        for (int i = 0; i < 100; i++) {
            channel.writeInbound(text("in"));
            channel.writeOutbound(text("out"));
        }
        assertEquals(
                List.of(),
                channel.pipeline().names().stream()
                        .filter(name -> name.startsWith("onewrite"))
                        .toList());
        channel.finishAndReleaseAll();
        assertTrue(records.isEmpty());
    }

    /** HTTP/2, or any other protocol: bytes pass as they are, and the awaiter gives up. */
    @Test
    void withoutACodecThePipelineStaysAsItWas() {
        EmbeddedChannel channel = new EmbeddedChannel();
        records.addTo(onewrite).apply(channel.pipeline());
        for (int i = 0; i < 100; i++) {
            channel.writeInbound(text("in"));
            channel.writeOutbound(text("out"));
            assertEquals(text("in"), channel.readInbound());
            assertEquals(text("out"), channel.readOutbound());
        }
        assertNull(channel.pipeline().get(Placement.NAME));
        assertNull(channel.pipeline().get(Joiner.NAME));
        assertEquals("on; connections without it so far: 1", coalesce());
        channel.finishAndReleaseAll();
    }

    /** Armeria sends its first request before the channel is reported as active. */
    @Test
    void aRequestAtTheEndOfTheConnectIsTimed() throws Exception {
        records.addTo(onewrite);
        try (TestServer server = TestServer.answering()) {
            Channel channel = connect(server.url(), true, initializer(http()), connected -> post(connected.channel()));
            assertAnswered();
            assertFalse(records.next().reused().orElseThrow());
            channel.close().get(30, TimeUnit.SECONDS);
        }
    }

    /** A connect that fails says nothing about the protocol. */
    @Test
    void aRefusedConnectIsNotCounted() throws Exception {
        Bootstrap bootstrap = new Bootstrap().group(group).channelFactory(() -> {
            Channel channel = new NioSocketChannel();
            onewrite.apply(channel.pipeline());
            return channel;
        });
        bootstrap.handler(initializer());
        assertFalse(
                bootstrap.connect("127.0.0.1", TestServer.unusedPort()).await().isSuccess());
        assertEquals("on", coalesce());
    }

    /** A tunnel is no request; the answers of pipelined requests belong to them in order. */
    @Test
    void answersAreMatchedInOrder() throws Exception {
        EmbeddedChannel channel = new EmbeddedChannel(new HttpClientCodec());
        records.addTo(onewrite).apply(channel.pipeline());
        channel.writeAndFlush(new DefaultFullHttpRequest(HttpVersion.HTTP_1_1, HttpMethod.CONNECT, "localhost:1"));
        channel.writeInbound(text("HTTP/1.1 407 No\r\nContent-Length: 0\r\n\r\n"));
        assertTrue(records.isEmpty());

        for (String path : List.of("/200", "/201", "/202", "/203")) {
            channel.writeAndFlush(new DefaultFullHttpRequest(HttpVersion.HTTP_1_1, HttpMethod.GET, path));
        }
        for (int status = 200; status < 204; status++) {
            channel.writeInbound(text(ANSWER.replace("200 OK", status + " OK")));
            Timing timing = records.next();
            assertEquals("http:///" + status, timing.url());
            assertEquals(status, timing.status().orElseThrow());
            assertTrue(timing.waitNanos().isPresent(), timing::toString);
        }
        channel.finishAndReleaseAll();
    }

    /** A head that the codec refuses has its own record: the answers that follow belong to the others. */
    @Test
    void aHeadThatCannotBeWrittenShiftsNoAnswer() throws Exception {
        EmbeddedChannel channel = new EmbeddedChannel(new HttpClientCodec());
        records.addTo(onewrite).apply(channel.pipeline());
        channel.writeAndFlush(new DefaultFullHttpRequest(HttpVersion.HTTP_1_1, HttpMethod.GET, "/200"));
        HttpRequest refused = new DefaultHttpRequest(HttpVersion.HTTP_1_1, HttpMethod.POST, "/refused");
        refused.headers().set("content-length", 200);
        channel.pipeline().addBefore("HttpClientCodec#0", "refuses", new ChannelOutboundHandlerAdapter() {
            @Override
            public void write(ChannelHandlerContext ctx, Object message, ChannelPromise promise) {
                ReferenceCountUtil.release(message);
                promise.setFailure(new java.io.IOException("on purpose"));
            }
        });
        channel.writeAndFlush(refused);
        channel.writeAndFlush(body());
        assertEquals("http:///refused", records.failed(ErrorKind.OTHER).url());
        channel.pipeline().remove("refuses");
        channel.writeAndFlush(new DefaultFullHttpRequest(HttpVersion.HTTP_1_1, HttpMethod.GET, "/202"));
        for (int status : new int[] {200, 202}) {
            channel.writeInbound(text(ANSWER.replace("200 OK", status + " OK")));
            Timing timing = records.next();
            assertEquals("http:///" + status, timing.url());
            assertEquals(status, timing.status().orElseThrow());
        }
        assertTrue(records.isEmpty());
        channel.finishAndReleaseAll();
    }

    /** Reactor Netty adds one directly above the codec for a form with files, and writes the end of the request twice. */
    @Test
    void aChunkedWriteHandlerThatIsAddedLaterStandsAbove() throws Exception {
        EmbeddedChannel channel = new EmbeddedChannel(new HttpClientCodec());
        records.addTo(onewrite).apply(channel.pipeline());
        channel.pipeline().addAfter("HttpClientCodec#0", "chunks", new ChunkedWriteHandler());
        for (int i = 0; i < 2; i++) {
            HttpRequest head = new DefaultHttpRequest(HttpVersion.HTTP_1_1, HttpMethod.POST, "/form");
            head.headers().set("transfer-encoding", "chunked");
            channel.writeAndFlush(head);
            channel.writeAndFlush(new HttpChunkedInput(new ChunkedStream(new ByteArrayInputStream(new byte[100]))));
            assertFalse(
                    channel.writeAndFlush(LastHttpContent.EMPTY_LAST_CONTENT).isSuccess());
            channel.writeInbound(text(ANSWER));
            assertEquals(Records.REUSED, Records.names(records.next()));
            assertAround(channel);
        }
        channel.finishAndReleaseAll();
    }

    /** The pool of another copy's application may be this one's. */
    @Test
    void aChannelOfAnotherCopyIsLeftAlone() {
        EmbeddedChannel channel = new EmbeddedChannel(new HttpClientCodec());
        channel.attr(NettySetup.KEY).set("of another copy");
        List<String> before = channel.pipeline().names();
        try (Warnings warnings = new Warnings()) {
            records.addTo(onewrite).apply(onewrite.apply(channel.pipeline()));
            assertEquals(1, warnings.texts().size(), warnings.texts()::toString);
        }
        assertEquals(before, channel.pipeline().names());
        channel.finishAndReleaseAll();
    }

    /** The answer comes while the request is sent; the channel is used again before that ends. */
    @Test
    void anEarlyAnswerDoesNotStampTheNextCall() throws Exception {
        EmbeddedChannel channel = new EmbeddedChannel(new HttpClientCodec());
        records.addTo(onewrite).apply(channel.pipeline());
        channel.writeAndFlush(head(HttpMethod.POST));
        channel.writeInbound(text(ANSWER));
        assertTrue(records.next().sendNanos().isEmpty());
        channel.writeAndFlush(body());
        post(channel);
        channel.writeInbound(text(ANSWER));
        Timing second = records.next();
        assertEquals(Records.REUSED, Records.names(second));
        assertEquals("POST", second.method());
        channel.finishAndReleaseAll();
    }
}
