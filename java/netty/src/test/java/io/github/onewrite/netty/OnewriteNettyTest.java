package io.github.onewrite.netty;

import static io.github.onewrite.testing.SegmentServer.REQUESTS;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.onewrite.Cause;
import io.github.onewrite.ErrorKind;
import io.github.onewrite.OnewriteConfig;
import io.github.onewrite.Outcome;
import io.github.onewrite.Phase;
import io.github.onewrite.Timing;
import io.github.onewrite.testing.AppliedTwice;
import io.github.onewrite.testing.Eventually;
import io.github.onewrite.testing.Identity;
import io.github.onewrite.testing.Records;
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
import io.netty.channel.DefaultFileRegion;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.channel.epoll.EpollEventLoopGroup;
import io.netty.channel.epoll.EpollSocketChannel;
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
import io.netty.handler.codec.http.HttpObjectAggregator;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.codec.http.LastHttpContent;
import io.netty.handler.proxy.HttpProxyHandler;
import io.netty.handler.proxy.Socks5ProxyHandler;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import io.netty.handler.timeout.ReadTimeoutHandler;
import io.netty.util.AttributeKey;
import io.netty.util.concurrent.Future;
import io.netty.util.concurrent.Promise;
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

    private final Records records = new Records();
    private final OnewriteNetty onewrite = records.addTo(OnewriteNetty.create());

    @BeforeAll
    static void start() {
        group = new NioEventLoopGroup(2);
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
        public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
            ctx.channel().attr(ANSWER).get().completeExceptionally(cause);
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
                fill(channel);
            }
        };
    }

    private static void fill(Channel channel) {
        channel.attr(ANSWER).set(new CompletableFuture<>());
        channel.pipeline().addLast(new HttpClientCodec(), new HttpObjectAggregator(65536), new Answers());
    }

    private static Bootstrap bootstrap(String url) {
        return bootstrap(url, NioSocketChannel.class);
    }

    private static Bootstrap epoll(EventLoopGroup loop, TestServer server) {
        return new Bootstrap()
                .group(loop)
                .channel(EpollSocketChannel.class)
                .remoteAddress(new InetSocketAddress("127.0.0.1", server.port()));
    }

    private static Bootstrap bootstrap(String url, Class<? extends Channel> type) {
        return new Bootstrap()
                .group(group)
                .channel(type)
                .remoteAddress(
                        new InetSocketAddress("127.0.0.1", URI.create(url).getPort()));
    }

    /** A pool of one connection. */
    private ChannelPool pool(Bootstrap bootstrap, ChannelPoolHandler handler, String url) {
        return onewrite.wrap(new FixedChannelPool(onewrite.apply(bootstrap), onewrite.wrap(handler), 1), url);
    }

    private ChannelPool pool(TestServer server) {
        return pool(bootstrap(server.url()), handler(), server.url());
    }

    private static Channel acquire(ChannelPool pool) throws Exception {
        return pool.acquire().get(30, TimeUnit.SECONDS);
    }

    private static void release(ChannelPool pool, Channel channel) throws Exception {
        pool.release(channel).get(30, TimeUnit.SECONDS);
    }

    /** Writes and flushes the head, then the body, in one turn of the event loop. */
    private static CompletableFuture<Integer> post(Channel channel) {
        CompletableFuture<Integer> answer = new CompletableFuture<>();
        channel.attr(ANSWER).set(answer);
        channel.eventLoop().execute(() -> {
            HttpRequest head = new DefaultHttpRequest(HttpVersion.HTTP_1_1, HttpMethod.POST, "/?secret");
            head.headers().set("host", "localhost").set("content-length", 200);
            channel.writeAndFlush(head);
            channel.writeAndFlush(new DefaultLastHttpContent(Unpooled.wrappedBuffer(new byte[200])))
                    .addListener(written -> {
                        if (!written.isSuccess()) {
                            answer.completeExceptionally(written.cause());
                        }
                    });
        });
        return answer;
    }

    private static void sleep(int millis) {
        try {
            Thread.sleep(millis);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    private static int answer(Channel channel) throws Exception {
        return post(channel).get(30, TimeUnit.SECONDS);
    }

    /** Applies to the bootstrap, the pool's handler and the pipeline. */
    @Override
    public Poster applied(int times, Records heard) {
        OnewriteNetty customizer = heard.addTo(OnewriteNetty.create());
        ChannelPoolHandler handler = handler();
        for (int i = 0; i < times; i++) {
            handler = customizer.wrap(handler);
        }
        ChannelPoolHandler last = handler;
        Map<String, ChannelPool> pools = new ConcurrentHashMap<>();
        return new Poster() {
            @Override
            public int post(String url) throws Exception {
                ChannelPool pool = pools.computeIfAbsent(url, any -> {
                    Bootstrap bootstrap = bootstrap(url);
                    for (int i = 0; i < times; i++) {
                        customizer.apply(bootstrap);
                    }
                    ChannelPool made = new FixedChannelPool(bootstrap, last, 1);
                    return times == 0 ? made : customizer.wrap(made, url);
                });
                Channel channel = acquire(pool);
                for (int i = 0; i < times; i++) {
                    customizer.apply(channel.pipeline());
                }
                int status = answer(channel);
                release(pool, channel);
                return status;
            }

            @Override
            public void close() {
                pools.values().forEach(ChannelPool::close);
            }
        };
    }

    /** The queue of a first request is the way to the event loop that connects. */
    @Override
    public List<String> fresh() {
        List<String> names = new ArrayList<>(List.of("queue_start", "queue_end"));
        names.addAll(Records.FRESH);
        return names;
    }

    @Test
    @EnabledOnOs(OS.LINUX)
    void aHeadThatIsFlushedAloneLeavesWithItsBody() throws Exception {
        OnewriteNetty plain = OnewriteNetty.create();
        OnewriteNetty observing = OnewriteNetty.create()
                .config(new OnewriteConfig(false, true, false))
                .onTiming(timing -> {});
        assertEquals(2, mode(null), "Netty alone, the control");
        assertEquals(1, mode(plain));
        assertEquals(1, mode(onewrite));
        assertEquals(2, mode(observing));
        assertEquals("on", plain.status().patches().get("coalesce"));
    }

    private static int mode(OnewriteNetty customizer) throws Exception {
        try (SegmentServer server = new SegmentServer();
                ChannelPool pool = customizer == null
                        ? new FixedChannelPool(bootstrap(server.url()), handler(), 1)
                        : new FixedChannelPool(
                                customizer.apply(bootstrap(server.url())), customizer.wrap(handler()), 1)) {
            for (int i = 0; i < REQUESTS; i++) {
                Channel channel = acquire(pool);
                assertEquals(200, answer(channel));
                release(pool, channel);
            }
            return server.mode();
        }
    }

    /** What the README promises of a pipeline without hooks: one handler more, and no connection that would take times. */
    @Test
    void withoutAHookThereIsOneHandlerAndNothingToStamp() throws Exception {
        OnewriteNetty plain = OnewriteNetty.create();
        EmbeddedChannel channel = new EmbeddedChannel(new HttpClientCodec());
        List<String> names = new ArrayList<>(channel.pipeline().names());
        plain.apply(plain.apply(channel.pipeline()));
        assertEquals(names, channel.pipeline().names(), "an embedded channel has nothing to join");
        try (TestServer server = TestServer.answering()) {
            Channel made = plain.apply(bootstrap(server.url()))
                    .handler(new ChannelInitializer<Channel>() {
                        @Override
                        protected void initChannel(Channel each) {
                            each.pipeline().addLast(new HttpClientCodec());
                            plain.apply(each.pipeline());
                        }
                    })
                    .connect()
                    .sync()
                    .channel();
            assertEquals(
                    List.of("HttpClientCodec#0", "onewrite.http"),
                    made.pipeline().names().subList(0, 2));
            assertEquals(3, made.pipeline().names().size());
            assertSame(null, io.github.onewrite.netty.internal.NettyConnection.of(made));
            made.close().sync();
        }
        ChannelPool pool =
                new FixedChannelPool(new Bootstrap().group(group).channel(NioSocketChannel.class), handler(), 1);
        assertSame(pool, plain.wrap(pool, ""));
        channel.finishAndReleaseAll();
    }

    /** A hook that comes later reaches the channels that are made later. */
    @Test
    void aLateHookIsCalledForLaterChannels() throws Exception {
        OnewriteNetty late = OnewriteNetty.create();
        try (TestServer server = TestServer.answering();
                ChannelPool pool = new FixedChannelPool(late.apply(bootstrap(server.url())), late.wrap(handler()), 2)) {
            Channel first = acquire(pool);
            assertEquals("waits for a hook", late.status().patches().get("timing"));
            records.addTo(late);
            assertEquals("on", late.status().patches().get("timing"));
            Channel second = acquire(pool);
            assertEquals(200, answer(first));
            assertEquals(200, answer(second));
            assertEquals("http://localhost/", records.next().url());
            assertTrue(records.isEmpty());
            release(pool, first);
            release(pool, second);
        }
    }

    @Test
    void theWaitForAConnectionThatIsInUseIsItsQueue() throws Exception {
        CountDownLatch go = new CountDownLatch(1);
        try (TestServer server = TestServer.answeringAfter(go, TestServer.OK);
                ChannelPool pool = pool(server)) {
            Channel channel = acquire(pool);
            CompletableFuture<Integer> answer = post(channel);
            Future<Channel> waiting = pool.acquire();
            go.countDown();
            assertEquals(200, answer.get(30, TimeUnit.SECONDS));
            Timing first = records.next();
            assertTrue(first.idleNanos().isEmpty());
            release(pool, channel);
            assertEquals(200, answer(waiting.get(30, TimeUnit.SECONDS)));
            Timing second = records.next();
            assertTrue(second.queueNanos().isPresent(), second::toString);
            assertTrue(second.reused().orElseThrow());
            assertEquals(2, second.connRequests().orElseThrow());
            release(pool, channel);
            assertEquals(200, answer(acquire(pool)));
            Timing third = records.next();
            assertTrue(third.queueNanos().isEmpty(), third::toString);
            assertTrue(third.idleNanos().isPresent());
        }
    }

    /** The connection in use is closed by its program, so the one that waits gets a new one. */
    @Test
    void theWaitBeforeANewConnectionIsItsQueue() throws Exception {
        try (TestServer server = TestServer.answering();
                ChannelPool pool = pool(server)) {
            Channel channel = acquire(pool);
            assertEquals(200, answer(channel));
            records.next();
            Future<Channel> waiting = pool.acquire();
            Thread.sleep(50);
            channel.close().get(30, TimeUnit.SECONDS);
            release(pool, channel);
            assertEquals(200, answer(waiting.get(30, TimeUnit.SECONDS)));
            Timing timing = records.next();
            assertEquals(fresh(), Records.names(timing));
            assertTrue(timing.queueNanos().orElseThrow() >= 40_000_000, timing::toString);
        }
    }

    @Test
    void anAcquireThatIsGivenUpFailsInTheQueue() throws Exception {
        Bootstrap bootstrap = bootstrap("http://localhost:1/");
        try (TestServer server = TestServer.answering()) {
            bootstrap.remoteAddress("127.0.0.1", server.port());
            ChannelPool limited = onewrite.wrap(
                    new FixedChannelPool(
                            onewrite.apply(bootstrap),
                            onewrite.wrap(handler()),
                            io.netty.channel.pool.ChannelHealthChecker.ACTIVE,
                            FixedChannelPool.AcquireTimeoutAction.FAIL,
                            50,
                            1,
                            5),
                    "http://pool.example");
            acquire(limited);
            assertThrows(Exception.class, () -> acquire(limited));
            Timing timing = records.failed(ErrorKind.POOL);
            assertEquals(Phase.QUEUE, timing.errorPhase().orElseThrow());
            assertTrue(timing.queueNanos().orElseThrow() > 40_000_000, timing::toString);
            assertEquals("http://pool.example", timing.url());
            limited.close();
        }
    }

    @ParameterizedTest
    @CsvSource({"refused,CONNECT,CONNECT", "unknown,DNS,DNS"})
    void anAcquireThatCannotConnectHasItsPhase(String why, ErrorKind kind, Phase phase) throws Exception {
        Bootstrap bootstrap = new Bootstrap()
                .group(group)
                .channel(NioSocketChannel.class)
                .remoteAddress(
                        why.equals("refused")
                                ? new InetSocketAddress("127.0.0.1", TestServer.unusedPort())
                                : InetSocketAddress.createUnresolved("unknown.invalid", 80));
        try (ChannelPool pool = pool(bootstrap, handler(), "http://unknown.invalid")) {
            assertThrows(Exception.class, () -> acquire(pool));
            Timing timing = records.failed(kind);
            assertEquals(phase, timing.errorPhase().orElseThrow());
            assertTrue(timing.nanos(phase).isPresent());
        }
    }

    /** A name that is looked up has its phase. */
    @Test
    void theLookUpOfAnAddressIsAPhase() throws Exception {
        try (TestServer server = TestServer.answering();
                ChannelPool pool = pool(
                        bootstrap(server.url())
                                .remoteAddress(InetSocketAddress.createUnresolved("localhost", server.port())),
                        handler(),
                        server.url())) {
            assertEquals(200, answer(acquire(pool)));
            Timing timing = records.next();
            assertTrue(timing.dnsNanos().isPresent() && timing.connectNanos().isPresent(), timing::toString);
        }
    }

    @Test
    void aRequestEndsWithItsChannel() throws Exception {
        try (TestServer server = TestServer.closingAt(1);
                ChannelPool pool = pool(server)) {
            assertThrows(Exception.class, () -> answer(acquire(pool)));
            assertEquals(
                    Phase.WAIT, records.failed(ErrorKind.CLOSED).errorPhase().orElseThrow());
        }
    }

    @Test
    void aProgramThatClosesTheChannelGivesUp() throws Exception {
        try (TestServer server = TestServer.silent();
                ChannelPool pool = pool(server)) {
            Channel channel = acquire(pool);
            post(channel);
            Eventually.until(() -> server.requests().size() == 1);
            channel.close();
            assertEquals(
                    Phase.WAIT, records.failed(ErrorKind.CANCELLED).errorPhase().orElseThrow());
        }
    }

    /** Its exception goes upwards from above the codec, and then it closes the channel. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aReadTimeoutIsATimeoutWhereverItStands(boolean above) throws Exception {
        ChannelPoolHandler handler = new AbstractChannelPoolHandler() {
            @Override
            public void channelCreated(Channel channel) {
                fill(channel);
                ReadTimeoutHandler limit = new ReadTimeoutHandler(100, TimeUnit.MILLISECONDS);
                if (above) {
                    channel.pipeline().addAfter("HttpClientCodec#0", null, limit);
                } else {
                    channel.pipeline().addFirst(limit);
                }
            }
        };
        try (TestServer server = TestServer.silent();
                ChannelPool pool = pool(bootstrap(server.url()), handler, server.url())) {
            assertThrows(Exception.class, () -> answer(acquire(pool)));
            assertEquals(
                    Phase.WAIT, records.failed(ErrorKind.TIMEOUT).errorPhase().orElseThrow());
        }
    }

    /** The pool returns a channel before its tunnel and handshake have ended, and the program writes at once. */
    @ParameterizedTest
    @CsvSource({"http,true", "http,false", "socks,true", "none,true"})
    void whatIsWrittenBeforeTheConnectionIsReadyIsNotSentYet(String proxy, boolean tls) throws Exception {
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
                    fill(channel);
                }
            };
            try (ChannelPool pool = pool(bootstrap(server.url()), handler, server.url())) {
                for (int i = 0; i < 2; i++) {
                    Channel channel = acquire(pool);
                    assertEquals(200, answer(channel));
                    Timing timing = records.next();
                    List<String> names = new ArrayList<>(i == 0 ? fresh() : Records.REUSED);
                    if (i == 0 && tls) {
                        names.addAll(names.indexOf("connect_end") + 1, List.of("tls_start", "tls_end"));
                    }
                    assertEquals(names, Records.names(timing));
                    assertEquals(1, timing.writes().orElseThrow());
                    assertEquals(proxy.equals("none"), timing.proxy().isEmpty(), timing::toString);
                    assertEquals((tls ? "https" : "http") + "://localhost/", timing.url());
                    release(pool, channel);
                }
            }
        }
    }

    /** A pool that hands a channel over only once it is closed. FixedChannelPool does so on another event loop, too. */
    private static final class LatePool extends FixedChannelPool {
        LatePool(Bootstrap bootstrap, ChannelPoolHandler handler) {
            super(bootstrap, handler, 1);
        }

        @Override
        public Future<Channel> acquire(Promise<Channel> promise) {
            Promise<Channel> inner = group.next().newPromise();
            super.acquire(inner)
                    .addListener(acquired -> CompletableFuture.runAsync(() -> {
                        Channel channel = inner.getNow();
                        while (channel.isRegistered()) {
                            sleep(1);
                        }
                        promise.setSuccess(channel);
                    }));
            return promise;
        }
    }

    /** The CONNECT exchange is part of the connect phase, whether the program has the channel by then or not. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void aProxyThatRefusesIsAnErrorOfTheConnect(boolean late) throws Exception {
        try (TestServer proxy = new TestServer(connection -> {
            connection.readHead();
            connection.send("HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n");
        })) {
            ChannelPoolHandler handler = onewrite.wrap(new AbstractChannelPoolHandler() {
                @Override
                public void channelCreated(Channel channel) {
                    channel.pipeline().addLast(new HttpProxyHandler(new InetSocketAddress("127.0.0.1", proxy.port())));
                    fill(channel);
                }
            });
            Bootstrap bootstrap = onewrite.apply(bootstrap(proxy.url()));
            ChannelPool made = late ? new LatePool(bootstrap, handler) : new FixedChannelPool(bootstrap, handler, 1);
            try (ChannelPool pool = onewrite.wrap(made, proxy.url())) {
                assertThrows(Exception.class, () -> answer(acquire(pool)));
                Timing timing = records.failed(ErrorKind.CONNECT);
                assertEquals(Phase.CONNECT, timing.errorPhase().orElseThrow());
                assertTrue(
                        timing.connectNanos().isPresent() && timing.sendNanos().isEmpty());
                assertTrue(timing.proxy().orElseThrow().endsWith(":" + proxy.port()), timing::toString);
            }
        }
    }

    /** What the program is told of a handshake that fails is what Netty tells. */
    @Test
    void aHandshakeThatFailsIsToldAsInStock() throws Exception {
        SslContext context = SslContextBuilder.forClient().build();
        List<String> told = new ArrayList<>();
        OnewriteNetty plain = OnewriteNetty.create();
        for (OnewriteNetty customizer : new OnewriteNetty[] {null, plain, onewrite}) {
            List<String> seen = new ArrayList<>();
            try (TestServer server = TestServer.answering(Identity.listener())) {
                Channel channel = bootstrap(server.url())
                        .handler(new ChannelInitializer<Channel>() {
                            @Override
                            protected void initChannel(Channel each) {
                                each.pipeline().addLast(context.newHandler(each.alloc(), "localhost", server.port()));
                                fill(each);
                                each.pipeline()
                                        .replace(
                                                Answers.class,
                                                "seen",
                                                new io.netty.channel.ChannelInboundHandlerAdapter() {
                                                    @Override
                                                    public void exceptionCaught(
                                                            ChannelHandlerContext ctx, Throwable cause) {
                                                        seen.add(cause.toString());
                                                    }
                                                });
                                if (customizer != null) {
                                    customizer.apply(each.pipeline());
                                }
                            }
                        })
                        .connect()
                        .sync()
                        .channel();
                post(channel);
                channel.closeFuture().get(30, TimeUnit.SECONDS);
                channel.eventLoop().submit(() -> {}).get(30, TimeUnit.SECONDS);
                told.add(seen.toString().replaceAll("@[0-9a-f]+", ""));
            }
        }
        assertEquals(told.get(0), told.get(1));
        assertEquals(told.get(0), told.get(2));
        assertEquals(Phase.TLS, records.failed(ErrorKind.TLS).errorPhase().orElseThrow());
    }

    /** A socket counts once if the customizer was applied twice. A clone of the bootstrap is guarded, too. */
    @Test
    void aSocketWithoutNodelayIsCountedUnlessTheBootstrapNamesTheOption() throws Exception {
        try (TestServer server = TestServer.answering()) {
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
            assertEquals(
                    "left to the bootstrap, which sets it itself",
                    onewrite.status().patches().get("nodelay"));
            obeyed.channel().close().sync();
        }
    }

    @Test
    void whatIsSwitchedOffStaysAsItIs() {
        OnewriteNetty off = OnewriteNetty.create()
                .config(new OnewriteConfig(true, false, false))
                .onTiming(records);
        EmbeddedChannel channel = new EmbeddedChannel(new HttpClientCodec());
        List<String> before = channel.pipeline().names();
        assertEquals(before, off.apply(channel.pipeline()).names());
        ChannelPoolHandler handler = handler();
        assertSame(handler, off.wrap(handler));
        Bootstrap bootstrap = off.apply(new Bootstrap());
        assertTrue(bootstrap.config().attrs().isEmpty());
        assertEquals("disabled is set", off.status().patches().get("nodelay"));
        channel.finishAndReleaseAll();
    }

    @Test
    void aRequestThatAHookMakesHasNoRecord() throws Exception {
        try (TestServer server = TestServer.answering();
                ChannelPool pool = pool(server)) {
            CompletableFuture<Channel> again = new CompletableFuture<>();
            onewrite.onTiming(
                    timing -> pool.acquire().addListener((Future<Channel> done) -> again.complete(done.getNow())));
            Channel channel = acquire(pool);
            assertEquals(200, answer(channel));
            records.next();
            release(pool, channel);
            assertEquals(200, answer(again.get(30, TimeUnit.SECONDS)));
            release(pool, again.get());
            assertEquals(200, answer(acquire(pool)));
            assertEquals(3, records.next().connRequests().orElseThrow());
            assertTrue(records.isEmpty());
        }
    }

    /** Returns the record of a GET with these answers, on a channel without a socket. */
    private Timing timedGet(String response) throws Exception {
        EmbeddedChannel channel = new EmbeddedChannel(new HttpClientCodec());
        onewrite.apply(channel.pipeline());
        channel.writeAndFlush(new DefaultFullHttpRequest(HttpVersion.HTTP_1_1, HttpMethod.GET, "/"));
        channel.writeInbound(text(response));
        Timing timing = records.next();
        channel.finishAndReleaseAll();
        return timing;
    }

    private static ByteBuf text(String text) {
        return Unpooled.copiedBuffer(text, StandardCharsets.ISO_8859_1);
    }

    @Test
    void anInterimAnswerIsNotTheAnswer() throws Exception {
        Timing timing = timedGet("HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
        assertEquals(200, timing.status().orElseThrow());
        assertEquals(1, timing.writes().orElseThrow());
        assertEquals(18, timing.bytesSent().orElseThrow());
        assertEquals(2, timing.bytesReceived().orElseThrow());
    }

    /** The codec decodes it as a response with status 999. */
    @Test
    void aMalformedResponseIsNoResponse() throws Exception {
        Timing timing = timedGet("HTTP/1.1 two hundred\r\n\r\n");
        assertEquals(Outcome.ERROR, timing.outcome());
        assertEquals(ErrorKind.PROTOCOL, timing.errorKind().orElseThrow());
        assertTrue(timing.status().isEmpty(), timing::toString);
        assertEquals(Phase.WAIT, timing.errorPhase().orElseThrow());
    }

    /** Much longer than it took until the latch was open. */
    private static void sleepAfter(CountDownLatch latch) {
        long begun = System.nanoTime();
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
        sleep(200 + 3 * (int) TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - begun));
    }

    /** The event loop computes while the answer waits in the socket: that is nobody else's time. */
    @Test
    @EnabledOnOs(OS.LINUX)
    void aBusyLoopIsTheClientsOwnTime() throws Exception {
        EventLoopGroup loop = new EpollEventLoopGroup(1);
        CountDownLatch answered = new CountDownLatch(2);
        try (TestServer server = new TestServer(connection -> {
                    while (true) {
                        connection.read();
                        connection.send(TestServer.OK);
                        answered.countDown();
                    }
                });
                ChannelPool pool = pool(epoll(loop, server), handler(), server.url())) {
            for (Cause expected : new Cause[] {null, Cause.CLIENT}) {
                Channel channel = acquire(pool);
                CompletableFuture<Integer> answer = post(channel);
                if (expected != null) {
                    channel.eventLoop().execute(() -> sleepAfter(answered));
                }
                assertEquals(200, answer.get(30, TimeUnit.SECONDS));
                Timing timing = records.next();
                if (expected != null) {
                    assertEquals(expected, timing.cause().orElse(null), timing::toString);
                    assertTrue(timing.kernel().orElseThrow().unreadNanos() > 100_000_000, timing::toString);
                }
                release(pool, channel);
            }
        } finally {
            loop.shutdownGracefully(0, 1, TimeUnit.SECONDS);
        }
    }

    @Test
    @EnabledOnOs(OS.LINUX)
    void aSlowServerIsTheServers() throws Exception {
        EventLoopGroup loop = new EpollEventLoopGroup(1);
        try (TestServer server = new TestServer(connection -> {
                    while (true) {
                        connection.read();
                        sleep(100);
                        connection.send(TestServer.OK);
                    }
                });
                ChannelPool pool = pool(epoll(loop, server), handler(), server.url())) {
            for (int i = 0; i < 2; i++) {
                Channel channel = acquire(pool);
                assertEquals(200, answer(channel));
                Timing timing = records.next();
                assertEquals(Cause.SERVER, timing.cause().orElse(null), timing::toString);
                assertEquals(1, timing.kernel().orElseThrow().segmentsOut(), timing::toString);
                release(pool, channel);
            }
        } finally {
            loop.shutdownGracefully(0, 1, TimeUnit.SECONDS);
        }
    }

    /** The transport fails the write and closes the channel. */
    @ParameterizedTest
    @ValueSource(ints = {0, 30_000})
    void aFileThatIsShorterThanItsRequestSays(int size, @TempDir Path dir) throws Exception {
        Path file = Files.write(dir.resolve("short"), new byte[size]);
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
}
