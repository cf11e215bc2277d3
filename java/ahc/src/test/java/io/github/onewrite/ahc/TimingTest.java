package io.github.onewrite.ahc;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import io.github.onewrite.Attempt;
import io.github.onewrite.ErrorKind;
import io.github.onewrite.Outcome;
import io.github.onewrite.Phase;
import io.github.onewrite.Timing;
import io.github.onewrite.netty.OnewriteNetty;
import io.github.onewrite.testing.AppliedTwice;
import io.github.onewrite.testing.Calls;
import io.github.onewrite.testing.Eventually;
import io.github.onewrite.testing.Identity;
import io.github.onewrite.testing.SocksServer;
import io.github.onewrite.testing.TestServer;
import io.github.onewrite.testing.Tunnel;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.nio.NioEventLoopGroup;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.netty.handler.codec.http.DefaultHttpRequest;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.util.Version;
import java.io.ByteArrayInputStream;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.asynchttpclient.AsyncCompletionHandlerBase;
import org.asynchttpclient.AsyncHttpClient;
import org.asynchttpclient.DefaultAsyncHttpClientConfig;
import org.asynchttpclient.Dsl;
import org.asynchttpclient.Response;
import org.asynchttpclient.handler.TransferCompletionHandler;
import org.asynchttpclient.netty.request.NettyRequest;
import org.asynchttpclient.netty.request.body.NettyBody;
import org.asynchttpclient.proxy.ProxyServer;
import org.asynchttpclient.proxy.ProxyType;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Records, and the order of events, of calls through AsyncHttpClient. */
class TimingTest implements AppliedTwice {
    private final Calls calls = new Calls();

    @Override
    public Poster applied(int times, Calls heard) {
        OnewriteAhc onewrite = heard.heard(OnewriteAhc.create());
        DefaultAsyncHttpClientConfig.Builder builder = Dsl.config();
        for (int i = 0; i < times; i++) {
            onewrite.apply(builder);
        }
        AsyncHttpClient client = Dsl.asyncHttpClient(builder);
        return new Poster() {
            @Override
            public int post(String url) throws Exception {
                return TimingTest.post(client, url).getStatusCode();
            }

            @Override
            public void close() throws Exception {
                client.close();
            }
        };
    }

    private OnewriteAhc customizer() {
        return calls.heard(OnewriteAhc.create());
    }

    private static AsyncHttpClient client(OnewriteAhc customizer, DefaultAsyncHttpClientConfig.Builder builder) {
        return Dsl.asyncHttpClient(customizer.apply(builder.setShutdownQuietPeriod(Duration.ZERO)));
    }

    private AsyncHttpClient client(DefaultAsyncHttpClientConfig.Builder builder) {
        return client(customizer(), builder);
    }

    private AsyncHttpClient client() {
        return client(Dsl.config());
    }

    private static Response post(AsyncHttpClient client, String url) throws Exception {
        return client.preparePost(url)
                .setBody(new ByteArrayInputStream("hello".getBytes(StandardCharsets.US_ASCII)))
                .execute()
                .get(30, TimeUnit.SECONDS);
    }

    private static Attempt only(Timing timing) {
        assertEquals(1, timing.attempts().size());
        return timing.attempts().get(0);
    }

    /** A client is closed while a call fails: handler and hook are called, although the event loop is shut down. */
    @Test
    @SuppressWarnings("deprecation") // Netty 4.1 has no other
    void failsWhenItsLoopIsGone() throws Exception {
        EventLoopGroup loops = new NioEventLoopGroup(1);
        NioSocketChannel channel = new NioSocketChannel();
        loops.register(channel).get(30, TimeUnit.SECONDS);
        OnewriteNetty onewrite = calls.heard(OnewriteNetty.create());
        ChannelSetup setup = new ChannelSetup(onewrite, null);
        setup.websocket(channel);
        CompletableFuture<Throwable> failure = new CompletableFuture<>();
        TimedHandler<Response> handler = new TimedHandler<>(
                new AsyncCompletionHandlerBase() {
                    @Override
                    public void onThrowable(Throwable thrown) {
                        failure.complete(thrown);
                    }
                },
                onewrite.begin("GET", "http://127.0.0.1/"),
                setup,
                false);
        handler.onTcpConnectSuccess(new InetSocketAddress("127.0.0.1", 1), channel);
        assertTrue(loops.shutdownGracefully(0, 5, TimeUnit.SECONDS).await(30, TimeUnit.SECONDS));
        var request = NettyRequest.class.getDeclaredConstructor(HttpRequest.class, NettyBody.class);
        request.setAccessible(true);
        handler.onRequestSend(
                request.newInstance(new DefaultHttpRequest(HttpVersion.HTTP_1_1, HttpMethod.GET, "/"), null));
        Throwable late = new TimeoutException("late");
        handler.onThrowable(late);
        assertSame(late, failure.getNow(null));
        assertEquals(ErrorKind.TIMEOUT, calls.next().errorKind().orElseThrow());
    }

    /** The connection is back in its pool while the hook runs, however long that takes. */
    @Test
    void aSlowHookCostsNoConnection() throws Exception {
        CountDownLatch running = new CountDownLatch(1);
        CountDownLatch go = new CountDownLatch(1);
        OnewriteAhc waiting = OnewriteAhc.create().onTiming(timing -> {
            running.countDown();
            assertDoesNotThrow(() -> go.await(30, TimeUnit.SECONDS));
        });
        try (TestServer server = TestServer.answering();
                AsyncHttpClient client = client(waiting, Dsl.config())) {
            client.preparePost(server.url()).setBody("hello").execute();
            try {
                assertTrue(running.await(30, TimeUnit.SECONDS));
                Eventually.until(() -> client.getClientStats().getTotalIdleConnectionCount() == 1);
            } finally {
                go.countDown();
            }
        }
    }

    /** AsyncHttpClient follows the redirect; each hop is an attempt, on the same connection or on another. */
    @Test
    void aRedirectIsAnAttempt() throws Exception {
        try (TestServer other = TestServer.answering();
                TestServer server = new TestServer(connection -> {
                    while (true) {
                        String head = connection.read().head();
                        String to = head.startsWith("GET /near") ? "/second" : other.url();
                        connection.send(
                                head.startsWith("GET /second")
                                        ? TestServer.OK
                                        : "HTTP/1.1 302 Found\r\nLocation: " + to
                                                + "\r\nContent-Length: 4\r\n\r\ngone");
                    }
                });
                AsyncHttpClient client = client(Dsl.config().setFollowRedirect(true))) {
            for (String path : List.of("near", "far")) {
                client.prepareGet(server.url() + path).execute().get(30, TimeUnit.SECONDS);
                Timing timing = calls.next();
                assertEquals(
                        List.of(302, 200),
                        timing.attempts().stream()
                                .map(attempt -> attempt.status().orElseThrow())
                                .toList(),
                        path);
                assertTrue(timing.attempts().stream().allMatch(each -> each.outcome() == Outcome.OK));
                List<String> names = calls.names();
                assertEquals(
                        2, names.stream().filter("connection_released"::equals).count(), names::toString);
                assertEquals("call_end", names.get(names.size() - 1));
                assertEquals(
                        path.equals("near"), timing.attempts().get(0).connId().equals(timing.connId()));
            }
        }
    }

    @Test
    void expectContinue() throws Exception {
        try (TestServer server = new TestServer(connection -> {
                    String head = connection.readHead();
                    assertTrue(head.contains("100-continue"), head);
                    connection.send("HTTP/1.1 100 Continue\r\n\r\n");
                    assertEquals("hello", new String(connection.in().readNBytes(5), StandardCharsets.US_ASCII));
                    connection.send(TestServer.OK);
                    connection.drain();
                });
                AsyncHttpClient client = client()) {
            Response response = client.preparePost(server.url())
                    .setHeader("Expect", "100-continue")
                    .setBody("hello")
                    .execute()
                    .get(30, TimeUnit.SECONDS);
            assertEquals("ok", response.getResponseBody());
            assertEquals(200, calls.next().status().orElseThrow());
            List<String> names = calls.names();
            assertTrue(names.contains("informational"), names::toString);
            assertEquals(1, names.stream().filter("response_start"::equals).count());
        }
    }

    private Timing failed(AsyncHttpClient client, String url, ErrorKind kind, Phase phase) throws Exception {
        assertThrows(
                ExecutionException.class,
                () -> client.preparePost(url).setBody("hello").execute().get(30, TimeUnit.SECONDS));
        Timing timing = calls.next();
        calls.assertFailed(timing);
        assertEquals(kind, timing.errorKind().orElseThrow());
        assertEquals(phase, timing.errorPhase().orElseThrow());
        return timing;
    }

    @Test
    void anAnswerThatIsNotHttp() throws Exception {
        try (TestServer server = TestServer.answeringOnce("SSH-2.0-OpenSSH_9.2\r\n");
                AsyncHttpClient direct = client();
                AsyncHttpClient tunnelled =
                        client(Dsl.config().setProxyServer(new ProxyServer.Builder("127.0.0.1", server.port())))) {
            failed(direct, server.url(), ErrorKind.PROTOCOL, Phase.WAIT);
            failed(tunnelled, "https://elsewhere.invalid/", ErrorKind.PROTOCOL, Phase.CONNECT);
            assertEquals(2, server.connections());
        }
    }

    /** Over TLS the event loop is busy while it encrypts a large body. AsyncHttpClient's timer does not wait for it. */
    @Test
    @SuppressWarnings("deprecation")
    void noAnswerInTimeWhileTheLoopIsBusy() throws Exception {
        EventLoopGroup loops = new NioEventLoopGroup(1);
        CountDownLatch free = new CountDownLatch(1);
        try (TestServer server = TestServer.silent();
                AsyncHttpClient client =
                        client(Dsl.config().setEventLoopGroup(loops).setRequestTimeout(Duration.ofSeconds(1)))) {
            var sent = client.preparePost(server.url()).setBody("hello").execute();
            Eventually.until(() -> server.requests().size() == 1);
            loops.execute(() -> assertDoesNotThrow(() -> free.await(30, TimeUnit.SECONDS)));
            assertThrows(ExecutionException.class, () -> sent.get(30, TimeUnit.SECONDS));
            Timing timing = calls.next();
            calls.assertFailed(timing);
            assertEquals(ErrorKind.TIMEOUT, timing.errorKind().orElseThrow());
            assertEquals(Phase.WAIT, timing.errorPhase().orElseThrow());
            assertTrue(only(timing).writes().isPresent());
        } finally {
            free.countDown();
            loops.shutdownGracefully(0, 5, TimeUnit.SECONDS).await(30, TimeUnit.SECONDS);
        }
    }

    @Test
    void tooManyConnections() throws Exception {
        // AsyncHttpClient waits for a free connection for as long as for a connect.
        try (TestServer server = TestServer.silent();
                AsyncHttpClient client =
                        client(Dsl.config().setMaxConnections(1).setConnectTimeout(Duration.ofSeconds(1)))) {
            var first = client.prepareGet(server.url()).execute();
            Eventually.until(() -> server.requests().size() == 1);
            failed(client, server.url(), ErrorKind.POOL, Phase.QUEUE);
            first.cancel(true);
            Timing cancelled = calls.next();
            assertEquals(Outcome.CANCELLED, cancelled.outcome());
            assertEquals(ErrorKind.CANCELLED, cancelled.errorKind().orElseThrow());
        }
    }

    @Test
    void theProxyRefusesTheTunnel() throws Exception {
        try (TestServer proxy = TestServer.answeringOnce("HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n");
                AsyncHttpClient client =
                        client(Dsl.config().setProxyServer(new ProxyServer.Builder("127.0.0.1", proxy.port())))) {
            Response response =
                    client.prepareGet("https://elsewhere.invalid/").execute().get(30, TimeUnit.SECONDS);
            assertEquals(403, response.getStatusCode());
            Timing timing = calls.next();
            assertTrue(timing.connectNanos().isPresent());
            assertTrue(timing.waitNanos().isEmpty());
        }
    }

    /** AsyncHttpClient looks for this handler by its class, so it is not wrapped, and the call is not timed. */
    @Test
    void aTransferCompletionHandler() throws Exception {
        try (TestServer server = TestServer.answering();
                AsyncHttpClient client = client()) {
            Response response = client.preparePost(server.url())
                    .setBody("hello")
                    .execute(new TransferCompletionHandler())
                    .get(30, TimeUnit.SECONDS);
            assertEquals(200, response.getStatusCode());
            assertTrue(calls.none());
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void throughASocksProxy(boolean tls) throws Exception {
        // AsyncHttpClient 3.0.1, which is tried with Netty 4.1, adds TLS behind a handler that it has removed.
        assumeFalse(
                tls && Version.identify().get("netty-common").artifactVersion().startsWith("4.1."));
        try (TestServer server = tls ? TestServer.answering(Identity.listener()) : TestServer.answering();
                SocksServer socks = new SocksServer();
                AsyncHttpClient client = client(Dsl.config()
                        .setUseInsecureTrustManager(true)
                        .setProxyServer(
                                new ProxyServer.Builder("127.0.0.1", socks.port()).setProxyType(ProxyType.SOCKS_V5)))) {
            String url = (tls ? "https" : "http") + "://localhost:" + server.port() + "/";
            assertEquals(200, post(client, url).getStatusCode());
            Timing timing = calls.next();
            assertTrue(timing.connectNanos().isPresent(), timing::toString);
            assertEquals(tls, timing.tlsNanos().isPresent(), timing::toString);
            assertEquals(1, only(timing).writes().orElseThrow());
        }
    }

    /**
     * The exchange with the proxy, its demand for a password included, belongs to the connect phase. TLS through the
     * tunnel is the tls phase.
     */
    @Test
    void throughATunnel() throws Exception {
        try (TestServer server = TestServer.answering(Identity.listener());
                TestServer proxy = new TestServer(connection -> {
                    String first = connection.readHead();
                    Thread.sleep(100);
                    if (!first.contains("roxy-")) {
                        connection.send("HTTP/1.1 407 Who\r\nProxy-Authenticate: Basic realm=\"x\"\r\n"
                                + "Content-Length: 0\r\n\r\n");
                        connection.readHead();
                        Thread.sleep(100);
                    }
                    Tunnel.open(connection, server.port());
                });
                AsyncHttpClient client = client(Dsl.config()
                        .setUseInsecureTrustManager(true)
                        .setProxyServer(new ProxyServer.Builder("127.0.0.1", proxy.port())
                                .setRealm(Dsl.basicAuthRealm("user", "secret").setUsePreemptiveAuth(false))))) {
            for (boolean reused : new boolean[] {false, true}) {
                assertEquals(
                        200,
                        post(client, "https://localhost:" + server.port() + "/").getStatusCode());
                Timing timing = calls.next();
                assertEquals(reused, timing.reused().orElseThrow());
                assertEquals(!reused, timing.connectNanos().orElse(0) > 190_000_000, timing::toString);
                assertEquals(!reused, timing.tlsNanos().isPresent(), timing::toString);
                assertEquals(1, only(timing).writes().orElseThrow());
                assertEquals(
                        server.requests().get(0).head().length() + "5\r\nhello\r\n0\r\n\r\n".length(),
                        only(timing).bytesSent().orElseThrow());
            }
        }
    }
}
