package io.github.onewrite.netty;

import static io.github.onewrite.testing.SegmentServer.REQUESTS;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.onewrite.Attempt;
import io.github.onewrite.ErrorKind;
import io.github.onewrite.OnewriteConfig;
import io.github.onewrite.Outcome;
import io.github.onewrite.Phase;
import io.github.onewrite.RecordListener;
import io.github.onewrite.Status;
import io.github.onewrite.Timing;
import io.github.onewrite.testing.AppliedTwice;
import io.github.onewrite.testing.Calls;
import io.github.onewrite.testing.Eventually;
import io.github.onewrite.testing.Identity;
import io.github.onewrite.testing.SegmentServer;
import io.github.onewrite.testing.SocksServer;
import io.github.onewrite.testing.StubbornChannel;
import io.github.onewrite.testing.TestServer;
import io.github.onewrite.testing.Tunnel;
import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.ChannelOutboundHandlerAdapter;
import io.netty.channel.ChannelPromise;
import io.netty.channel.DefaultFileRegion;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.channel.nio.NioEventLoopGroup;
import io.netty.channel.pool.AbstractChannelPoolHandler;
import io.netty.channel.pool.ChannelPool;
import io.netty.channel.pool.ChannelPoolHandler;
import io.netty.channel.pool.FixedChannelPool;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.netty.handler.codec.http.DefaultFullHttpRequest;
import io.netty.handler.codec.http.DefaultHttpRequest;
import io.netty.handler.codec.http.DefaultLastHttpContent;
import io.netty.handler.codec.http.FullHttpResponse;
import io.netty.handler.codec.http.HttpClientCodec;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpObject;
import io.netty.handler.codec.http.HttpObjectAggregator;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpResponse;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.codec.http.LastHttpContent;
import io.netty.handler.proxy.HttpProxyHandler;
import io.netty.handler.proxy.Socks5ProxyHandler;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import io.netty.handler.ssl.SslHandler;
import io.netty.util.AttributeKey;
import java.net.ConnectException;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** A client on Netty's pool that flushes the head before the body. */
@SuppressWarnings("deprecation") // NioEventLoopGroup is in Netty 4.1 and 4.2.
class OnewriteNettyTest implements AppliedTwice {
    private static final AttributeKey<CompletableFuture<Integer>> ANSWER =
            AttributeKey.valueOf(OnewriteNettyTest.class, "answer");

    private static EventLoopGroup group;

    private final Calls calls = new Calls();

    @BeforeAll
    static void start() {
        group = new NioEventLoopGroup(1);
    }

    @AfterAll
    static void stop() {
        group.shutdownGracefully(0, 1, TimeUnit.SECONDS);
    }

    private static final class Answers extends SimpleChannelInboundHandler<FullHttpResponse> {
        @Override
        protected void channelRead0(ChannelHandlerContext ctx, FullHttpResponse response) {
            ctx.channel().attr(ANSWER).get().complete(response.status().code());
        }

        @Override
        public void channelInactive(ChannelHandlerContext ctx) {
            ctx.channel().attr(ANSWER).get().completeExceptionally(new java.nio.channels.ClosedChannelException());
        }
    }

    private static ChannelPoolHandler handler() {
        return new AbstractChannelPoolHandler() {
            @Override
            public void channelCreated(Channel channel) {
                handlerCreated(channel);
            }
        };
    }

    private static void handlerCreated(Channel channel) {
        channel.pipeline().addLast(new HttpClientCodec(), new HttpObjectAggregator(65536), new Answers());
    }

    private static Bootstrap bootstrap(String url) {
        return bootstrap(url, NioSocketChannel.class);
    }

    private static Bootstrap bootstrap(String url, Class<? extends Channel> type) {
        return new Bootstrap()
                .group(group)
                .channel(type)
                .remoteAddress(
                        new InetSocketAddress("127.0.0.1", URI.create(url).getPort()));
    }

    private static Channel acquire(ChannelPool pool) throws Exception {
        return pool.acquire().get(30, TimeUnit.SECONDS);
    }

    /** Writes and flushes the head, then the body. */
    private static CompletableFuture<Integer> post(Channel channel) {
        CompletableFuture<Integer> answer = new CompletableFuture<>();
        channel.attr(ANSWER).set(answer);
        HttpRequest head = new DefaultHttpRequest(HttpVersion.HTTP_1_1, HttpMethod.POST, "/");
        head.headers().set("host", "localhost").set("content-length", 200);
        channel.writeAndFlush(head);
        channel.writeAndFlush(new DefaultLastHttpContent(Unpooled.wrappedBuffer(new byte[200])));
        return answer;
    }

    /** Applies to the bootstrap, the pool's handler and the pipeline. */
    @Override
    public Poster applied(int times, Calls heard) {
        OnewriteNetty onewrite = heard.heard(OnewriteNetty.create());
        ChannelPoolHandler handler = handler();
        for (int i = 0; i < times; i++) {
            handler = onewrite.wrap(handler);
        }
        ChannelPoolHandler last = handler;
        Map<String, ChannelPool> pools = new ConcurrentHashMap<>();
        return new Poster() {
            @Override
            public int post(String url) throws Exception {
                ChannelPool pool = pools.computeIfAbsent(url, any -> {
                    Bootstrap bootstrap = bootstrap(url);
                    for (int i = 0; i < times; i++) {
                        onewrite.apply(bootstrap);
                    }
                    return new FixedChannelPool(bootstrap, last, 1);
                });
                OnewriteNetty.Call call = times == 0 ? null : onewrite.begin("POST", url);
                Channel channel = acquire(pool);
                for (int i = 0; i < times; i++) {
                    onewrite.apply(channel.pipeline());
                }
                if (call != null) {
                    call.on(channel);
                }
                int status = postAtOnce(channel);
                pool.release(channel).get(30, TimeUnit.SECONDS);
                return status;
            }

            @Override
            public void close() {
                pools.values().forEach(ChannelPool::close);
            }
        };
    }

    /** Posts in the same turn of the event loop. */
    private static int postAtOnce(Channel channel) throws Exception {
        return channel.eventLoop()
                .submit(() -> post(channel))
                .get(30, TimeUnit.SECONDS)
                .get(30, TimeUnit.SECONDS);
    }

    private static int mode(Bootstrap bootstrap, ChannelPoolHandler handler, SegmentServer server) throws Exception {
        try (ChannelPool pool = new FixedChannelPool(bootstrap, handler, 1)) {
            for (int i = 0; i < REQUESTS; i++) {
                Channel channel = acquire(pool);
                assertEquals(200, postAtOnce(channel));
                pool.release(channel).get(30, TimeUnit.SECONDS);
            }
        }
        return server.mode();
    }

    @Test
    @EnabledOnOs(OS.LINUX)
    void aHeadThatIsFlushedAloneLeavesWithItsBody() throws Exception {
        try (SegmentServer server = new SegmentServer()) {
            assertEquals(2, mode(bootstrap(server.url()), handler(), server), "Netty alone, the control");
        }
        try (SegmentServer server = new SegmentServer()) {
            OnewriteNetty onewrite = OnewriteNetty.create();
            int mode = mode(onewrite.apply(bootstrap(server.url())), onewrite.wrap(handler()), server);
            assertEquals(1, mode, () -> server.segments().toString());
        }
    }

    @Test
    void theWaitForAConnectionIsAPhase() throws Exception {
        OnewriteNetty onewrite = calls.heard(OnewriteNetty.create());
        CountDownLatch go = new CountDownLatch(1);
        try (TestServer server = TestServer.answeringAfter(go, TestServer.OK);
                ChannelPool pool =
                        new FixedChannelPool(onewrite.apply(bootstrap(server.url())), onewrite.wrap(handler()), 1)) {
            Channel channel = acquire(pool);
            onewrite.begin("POST", server.url()).on(channel);
            CompletableFuture<Integer> answer = post(channel);
            OnewriteNetty.Call waiting = onewrite.begin("POST", server.url());
            var next = pool.acquire();
            go.countDown();
            assertEquals(200, answer.get(30, TimeUnit.SECONDS));
            assertTrue(calls.next().queueNanos().isEmpty());
            pool.release(channel);
            waiting.on(next.get(30, TimeUnit.SECONDS));
            assertEquals(200, post(channel).get(30, TimeUnit.SECONDS));
            assertTrue(calls.next().queueNanos().isPresent());
        }
    }

    @Test
    void aCallEndsWithItsChannelOrByItsCaller() throws Exception {
        OnewriteNetty onewrite = calls.heard(OnewriteNetty.create());
        try (TestServer server = TestServer.closingAt(1);
                ChannelPool pool =
                        new FixedChannelPool(onewrite.apply(bootstrap(server.url())), onewrite.wrap(handler()), 1)) {
            Channel channel = acquire(pool);
            OnewriteNetty.Call call = onewrite.begin("POST", server.url()).on(channel);
            assertThrows(Exception.class, () -> post(channel).get(30, TimeUnit.SECONDS));
            Timing closed = calls.next();
            calls.assertFailed(closed);
            assertEquals(ErrorKind.CLOSED, closed.errorKind().orElseThrow());
            call.failed(new IllegalStateException("too late"));
            assertTrue(calls.none());
        }
        onewrite.begin("POST", "http://localhost/").failed(new ConnectException("Connection refused"));
        assertEquals(ErrorKind.CONNECT, calls.next().errorKind().orElseThrow());
        onewrite.begin("POST", "http://localhost/").cancelled();
        assertEquals(Outcome.CANCELLED, calls.next().outcome());
    }

    /** The client adds TLS below the handlers. */
    @Test
    void tlsMayComeLater() throws Exception {
        OnewriteNetty onewrite = calls.heard(OnewriteNetty.create());
        try (TestServer server = TestServer.answering(Identity.listener())) {
            SslHandler tls = SslContextBuilder.forClient()
                    .trustManager(Identity.localhost().chainPem().toFile())
                    .build()
                    .newHandler(io.netty.buffer.ByteBufAllocator.DEFAULT, "localhost", server.port());
            Bootstrap bootstrap = bootstrap(server.url()).handler(new ChannelInitializer<Channel>() {
                @Override
                protected void initChannel(Channel channel) {
                    handlerCreated(channel);
                    onewrite.apply(channel.pipeline());
                    channel.pipeline().addFirst(tls);
                }
            });
            OnewriteNetty.Call call = onewrite.begin("POST", server.url());
            Channel channel = onewrite.apply(bootstrap).connect().sync().channel();
            tls.handshakeFuture().get(30, TimeUnit.SECONDS);
            call.on(channel);
            assertEquals(200, postAtOnce(channel));
            calls.assertFreshOverTls(calls.next());
            channel.close().get(30, TimeUnit.SECONDS);
        }
    }

    /** The pool returns a channel before its tunnel and handshake have ended, and the client writes at once. */
    @ParameterizedTest
    @CsvSource({"http,true", "http,false", "socks,true", "socks,false", "none,true"})
    void whatIsWrittenBeforeTheConnectionIsReadyIsNotSentYet(String proxy, boolean tls) throws Exception {
        OnewriteNetty onewrite = calls.heard(OnewriteNetty.create());
        SslContext context = SslContextBuilder.forClient()
                .trustManager(Identity.localhost().chainPem().toFile())
                .build();
        try (TestServer server = tls ? TestServer.answering(Identity.listener()) : TestServer.answering();
                TestServer tunnel = Tunnel.to(server);
                SocksServer socks = new SocksServer()) {
            ChannelPoolHandler handler = new AbstractChannelPoolHandler() {
                @Override
                public void channelCreated(Channel channel) {
                    if (proxy.equals("http")) {
                        channel.pipeline()
                                .addLast(new HttpProxyHandler(new InetSocketAddress("127.0.0.1", tunnel.port())));
                    } else if (proxy.equals("socks")) {
                        channel.pipeline()
                                .addLast(new Socks5ProxyHandler(new InetSocketAddress("127.0.0.1", socks.port())));
                    }
                    if (tls) {
                        channel.pipeline().addLast(context.newHandler(channel.alloc(), "localhost", server.port()));
                    }
                    handlerCreated(channel);
                }
            };
            String url = "http://127.0.0.1:" + server.port() + "/";
            try (ChannelPool pool = new FixedChannelPool(onewrite.apply(bootstrap(url)), onewrite.wrap(handler), 1)) {
                for (int i = 0; i < 2; i++) {
                    OnewriteNetty.Call call = onewrite.begin("POST", url);
                    Channel channel = acquire(pool);
                    call.on(channel);
                    assertEquals(200, postAtOnce(channel));
                    Timing timing = calls.next();
                    List<String> names = new ArrayList<>(i == 0 ? Calls.FRESH : Calls.REUSED);
                    if (i == 0 && tls) {
                        names.addAll(names.indexOf("connect_end") + 1, List.of("tls_start", "tls_end"));
                    }
                    assertEquals(names, calls.names());
                    assertEquals(i == 0 && tls, timing.tlsNanos().isPresent(), timing::toString);
                    assertEquals(1, timing.attempts().get(0).writes().orElseThrow());
                    pool.release(channel).get(30, TimeUnit.SECONDS);
                }
            }
        }
    }

    /** The CONNECT exchange is part of the connect phase. */
    @Test
    void aProxyThatRefusesIsAnErrorOfTheConnect() throws Exception {
        OnewriteNetty onewrite = calls.heard(OnewriteNetty.create());
        try (TestServer proxy = new TestServer(connection -> {
            connection.readHead();
            connection.send("HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n");
        })) {
            Bootstrap bootstrap = bootstrap(proxy.url()).handler(new ChannelInitializer<Channel>() {
                @Override
                protected void initChannel(Channel channel) {
                    channel.pipeline().addLast(new HttpProxyHandler(new InetSocketAddress("127.0.0.1", proxy.port())));
                    handlerCreated(channel);
                    onewrite.apply(channel.pipeline());
                }
            });
            OnewriteNetty.Call call = onewrite.begin("POST", "http://localhost/");
            Channel channel = onewrite.apply(bootstrap).connect().sync().channel();
            call.on(channel);
            assertThrows(Exception.class, () -> postAtOnce(channel));
            Timing timing = calls.next();
            assertEquals(ErrorKind.CONNECT, timing.errorKind().orElseThrow());
            assertEquals(Phase.CONNECT, timing.errorPhase().orElseThrow());
            assertTrue(timing.connectNanos().isPresent() && timing.sendNanos().isEmpty());
            assertEquals("127.0.0.1:" + proxy.port(), timing.proxy().orElseThrow());
        }
    }

    /** A socket counts once if the customizer was applied twice. A clone of the bootstrap is checked, too. */
    @Test
    void aSocketWithoutNodelayIsCountedUnlessTheBootstrapNamesTheOption() throws Exception {
        try (TestServer server = TestServer.answering()) {
            OnewriteNetty onewrite = OnewriteNetty.create();
            ChannelInitializer<Channel> prepared = new ChannelInitializer<>() {
                @Override
                protected void initChannel(Channel channel) {
                    onewrite.apply(onewrite.apply(channel.pipeline()));
                }
            };
            for (int i = 0; i < 2; i++) {
                Bootstrap once = onewrite.apply(bootstrap(server.url(), StubbornChannel.class));
                onewrite.apply(once.clone())
                        .handler(prepared)
                        .connect()
                        .sync()
                        .channel()
                        .close()
                        .sync();
            }
            assertEquals(
                    "on; connections without it so far: 2",
                    onewrite.status().patches().get("nodelay"));
            ChannelFuture obeyed = onewrite.apply(bootstrap(server.url())
                            .option(ChannelOption.TCP_NODELAY, false)
                            .handler(prepared))
                    .connect()
                    .sync();
            assertFalse(obeyed.channel().config().getOption(ChannelOption.TCP_NODELAY));
            obeyed.channel().close().sync();
        }
    }

    @Test
    void whatIsSwitchedOffOrWrappedStaysAsItIs() {
        OnewriteNetty off =
                OnewriteNetty.create().config(OnewriteConfig.defaults().withDisabled(true));
        EmbeddedChannel channel = new EmbeddedChannel(new HttpClientCodec());
        List<String> before = channel.pipeline().names();
        assertEquals(before, off.apply(channel.pipeline()).names());
        ChannelPoolHandler handler = handler();
        assertSame(handler, off.wrap(handler));
        ChannelPoolHandler wrapped = OnewriteNetty.create().wrap(handler);
        assertSame(wrapped, OnewriteNetty.create().wrap(wrapped));
        channel.finishAndReleaseAll();
    }

    @Test
    void statusSaysWhatIsOnAndWhy() {
        OnewriteNetty onewrite = OnewriteNetty.create();
        assertEquals("it was not applied yet", onewrite.status().offBecause());
        onewrite.apply(new Bootstrap().option(ChannelOption.TCP_NODELAY, false));
        Status status = onewrite.status();
        assertTrue(status.enabled());
        assertEquals("netty", status.base().name());
        assertTrue(status.base().version().startsWith("4."), status::toString);
        assertEquals(
                Map.of(
                        "nodelay", "left to the bootstrap, which sets it itself",
                        "coalesce", "on",
                        "timing", "waits for a hook",
                        "quickack", "quickack is not set"),
                status.patches());
        OnewriteConfig config = OnewriteConfig.defaults().withCoalesceDisabled(true);
        OnewriteNetty timed = OnewriteNetty.create().config(config).onTiming(timing -> {});
        timed.wrap(handler());
        Status other = timed.status();
        assertEquals("on", other.patches().get("nodelay"));
        assertEquals("coalesceDisabled is set", other.patches().get("coalesce"));
        assertEquals("on", other.patches().get("timing"));
        assertEquals(true, ((Map<?, ?>) other.toMap().get("options")).get("coalesce_disabled"));
        Status off = OnewriteNetty.create().config(config.withDisabled(true)).status();
        assertFalse(off.enabled());
        assertEquals("disabled is set", off.patches().get("nodelay"));
    }

    /** There is no socket. An interim answer does not end the wait. */
    @Test
    void anEmbeddedChannelIsTimed() throws Exception {
        OnewriteNetty onewrite = calls.heard(OnewriteNetty.create());
        EmbeddedChannel channel = new EmbeddedChannel(new HttpClientCodec());
        onewrite.apply(channel.pipeline());
        onewrite.begin("POST", "http://localhost/").on(channel);
        HttpRequest head = new DefaultHttpRequest(HttpVersion.HTTP_1_1, HttpMethod.POST, "/");
        head.headers().set("content-length", 3);
        channel.write(head);
        channel.writeAndFlush(new DefaultLastHttpContent(Unpooled.wrappedBuffer(new byte[3])));
        channel.writeInbound(text("HTTP/1.1 103 Early Hints\r\n\r\n"));
        channel.writeInbound(text("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"));
        Timing timing = calls.next();
        assertEquals(200, timing.status().orElseThrow());
        assertEquals(1, timing.attempts().get(0).writes().orElseThrow());
        assertEquals(41, timing.attempts().get(0).bytesSent().orElseThrow());
        assertEquals(2, timing.attempts().get(0).bytesReceived().orElseThrow());
        assertEquals(1, calls.names().stream().filter("informational"::equals).count());
        channel.finishAndReleaseAll();
    }

    @Test
    void aChannelThatNothingWasAppliedToIsTimed() throws Exception {
        assertEquals(204, timedGet("HTTP/1.1 204 No Content\r\n\r\n").status().orElseThrow());
    }

    /** Returns the record of a GET with this answer, on a channel without a customizer. */
    private Timing timedGet(String response) throws Exception {
        OnewriteNetty onewrite = calls.heard(OnewriteNetty.create());
        EmbeddedChannel channel = new EmbeddedChannel(new HttpClientCodec());
        onewrite.begin("GET", "http://localhost/").on(channel);
        channel.writeAndFlush(new DefaultFullHttpRequest(HttpVersion.HTTP_1_1, HttpMethod.GET, "/"));
        channel.writeInbound(text(response));
        Timing timing = calls.next();
        channel.finishAndReleaseAll();
        return timing;
    }

    /** The handler of OpenTelemetry's agent makes the span current around the write. */
    @Test
    void theHeadIsWrittenInTheScopeOfATracerAboveTheCodec() {
        boolean[] scope = new boolean[2];
        final class Listener implements RecordListener {
            @Override
            public void onRequestWrite() {
                scope[1] = scope[0];
            }

            @Override
            public void onProgress(Attempt soFar) {}

            @Override
            public void onRecord(Timing timing) {}
        }
        OnewriteNetty onewrite = OnewriteNetty.create().listener(new Listener());
        EmbeddedChannel channel = new EmbeddedChannel(new HttpClientCodec());
        onewrite.apply(channel.pipeline());
        channel.pipeline()
                .addAfter(
                        channel.pipeline().context(HttpClientCodec.class).name(),
                        null,
                        new ChannelOutboundHandlerAdapter() {
                            @Override
                            public void write(ChannelHandlerContext ctx, Object message, ChannelPromise promise) {
                                scope[0] = true;
                                ctx.write(message, promise);
                                scope[0] = false;
                            }
                        });
        channel.writeAndFlush(new DefaultFullHttpRequest(HttpVersion.HTTP_1_1, HttpMethod.GET, "/"));
        assertTrue(scope[1]);
        channel.finishAndReleaseAll();
    }

    /** A framework wraps the pool with a customizer without hooks. The application begins the call with its own. */
    @Test
    void aCallOfAnotherCustomizerIsTimed() throws Exception {
        try (TestServer server = TestServer.answering();
                ChannelPool pool = new FixedChannelPool(
                        bootstrap(server.url()), OnewriteNetty.create().wrap(handler()), 1)) {
            OnewriteNetty own = calls.heard(OnewriteNetty.create());
            for (int i = 0; i < 2; i++) {
                OnewriteNetty.Call call = own.begin("POST", server.url());
                Channel channel = acquire(pool);
                call.on(channel);
                assertEquals(200, postAtOnce(channel));
                assertEquals(200, calls.next().status().orElseThrow());
                pool.release(channel).get(30, TimeUnit.SECONDS);
            }
        }
    }

    /** A handler that is added later, directly above the codec, consumes the answers. */
    @ParameterizedTest
    @ValueSource(ints = {0, 1, 2})
    void answersThatAreConsumedAboveTheCodecEndTheirCalls(int added) throws Exception {
        EmbeddedChannel channel = new EmbeddedChannel();
        channel.pipeline().addLast("codec", new HttpClientCodec());
        OnewriteNetty onewrite = calls.heard(OnewriteNetty.create());
        onewrite.apply(channel.pipeline());
        for (int i = 0; i < 4; i++) {
            if (i == added) {
                channel.pipeline().addAfter("codec", "own", new SimpleChannelInboundHandler<HttpObject>() {
                    @Override
                    protected void channelRead0(ChannelHandlerContext ctx, HttpObject part) {}
                });
            }
            if (i % 2 == 0) {
                onewrite.begin("GET", "http:///" + i).on(channel);
            }
            channel.writeAndFlush(new DefaultFullHttpRequest(HttpVersion.HTTP_1_1, HttpMethod.GET, "/" + i));
            channel.writeInbound(text("HTTP/1.1 20" + i + " OK\r\nContent-Length: 0\r\n\r\n"));
            Timing timing = calls.next();
            assertEquals("http:///" + i, timing.url());
            assertEquals(200 + i, timing.status().orElseThrow());
        }
        channel.finishAndReleaseAll();
        assertTrue(calls.none());
    }

    /** A WebSocket client replaces the codec then. */
    @Test
    void anUpgradeEndsWithItsHead() throws Exception {
        assertEquals(
                101,
                timedGet("HTTP/1.1 101 Yes\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n")
                        .status()
                        .orElseThrow());
    }

    /** The client closes the channel when it reads the head. */
    @ParameterizedTest
    @CsvSource({"HEAD,200,5", "GET,204,", "GET,304,5", "GET,200,0", "GET,200,5"})
    void anAnswerWithoutABodyEndsWithItsHead(String method, int status, @Nullable Integer length) throws Exception {
        OnewriteNetty onewrite = calls.heard(OnewriteNetty.create());
        EmbeddedChannel channel = new EmbeddedChannel(new HttpClientCodec());
        channel.pipeline().addLast(new SimpleChannelInboundHandler<HttpResponse>() {
            @Override
            protected void channelRead0(ChannelHandlerContext ctx, HttpResponse response) {
                ctx.close();
            }
        });
        onewrite.apply(channel.pipeline());
        channel.writeAndFlush(new DefaultFullHttpRequest(HttpVersion.HTTP_1_1, HttpMethod.valueOf(method), "/"));
        channel.writeInbound(text("HTTP/1.1 " + status + " X\r\n"
                + (length == null ? "" : "Content-Length: " + length + "\r\n") + "\r\n"));
        calls.next();
        assertEquals(
                !(method.equals("GET") && status == 200 && length == 5),
                calls.names().contains("response_end"));
        channel.finishAndReleaseAll();
    }

    /** The codec decodes it as a response with status 999. */
    @Test
    void aMalformedResponseIsNoResponse() throws Exception {
        Timing timing = timedGet("HTTP/1.1 two hundred\r\n\r\n");
        assertEquals(Outcome.ERROR, timing.outcome());
        assertTrue(timing.status().isEmpty(), timing::toString);
        assertEquals(Phase.WAIT, timing.errorPhase().orElseThrow());
    }

    /** The transport fails the write and closes the channel. */
    @ParameterizedTest
    @ValueSource(ints = {0, 3_000, 30_000})
    void aFileThatIsShorterThanItsRequestSays(int size, @TempDir Path dir) throws Exception {
        Path file = Files.write(dir.resolve("short"), new byte[size]);
        OnewriteNetty onewrite = OnewriteNetty.create();
        List<String> seen = new ArrayList<>();
        for (boolean with : new boolean[] {false, true}) {
            CompletableFuture<Integer> received = new CompletableFuture<>();
            try (TestServer server = new TestServer(connection -> {
                connection.readHead();
                received.complete(connection.in().readAllBytes().length);
            })) {
                ChannelInitializer<Channel> initializer = new ChannelInitializer<>() {
                    @Override
                    protected void initChannel(Channel channel) {
                        channel.pipeline().addLast(new HttpClientCodec());
                        if (with) {
                            onewrite.apply(channel.pipeline());
                        }
                    }
                };
                Channel channel = bootstrap(server.url())
                        .handler(initializer)
                        .connect()
                        .sync()
                        .channel();
                HttpRequest head = new DefaultHttpRequest(HttpVersion.HTTP_1_1, HttpMethod.POST, "/");
                head.headers().set("content-length", size + 2_000);
                channel.write(head);
                ChannelFuture written = channel.write(new DefaultFileRegion(file.toFile(), 0, size + 2_000));
                channel.writeAndFlush(LastHttpContent.EMPTY_LAST_CONTENT);
                assertTrue(written.await(30, TimeUnit.SECONDS));
                assertTrue(channel.closeFuture().await(30, TimeUnit.SECONDS));
                seen.add(Eventually.of(received) + " " + written.cause());
            }
        }
        assertEquals(seen.get(0), seen.get(1));
    }

    private static ByteBuf text(String text) {
        return Unpooled.copiedBuffer(text, StandardCharsets.ISO_8859_1);
    }
}
