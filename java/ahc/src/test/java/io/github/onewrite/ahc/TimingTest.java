package io.github.onewrite.ahc;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.onewrite.ErrorKind;
import io.github.onewrite.Phase;
import io.github.onewrite.Timing;
import io.github.onewrite.testing.Calls;
import io.github.onewrite.testing.Eventually;
import io.github.onewrite.testing.Identity;
import io.github.onewrite.testing.TestServer;
import io.github.onewrite.testing.Tunnel;
import java.io.ByteArrayInputStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.asynchttpclient.AsyncCompletionHandlerBase;
import org.asynchttpclient.AsyncHttpClient;
import org.asynchttpclient.DefaultAsyncHttpClientConfig;
import org.asynchttpclient.Dsl;
import org.asynchttpclient.Response;
import org.asynchttpclient.filter.FilterContext;
import org.asynchttpclient.filter.ResponseFilter;
import org.asynchttpclient.handler.TransferCompletionHandler;
import org.asynchttpclient.handler.resumable.ResumableAsyncHandler;
import org.asynchttpclient.proxy.ProxyServer;
import org.asynchttpclient.request.body.generator.ByteArrayBodyGenerator;
import org.asynchttpclient.ws.WebSocket;
import org.asynchttpclient.ws.WebSocketUpgradeHandler;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledIfSystemProperty;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Records, and the order of events, of exchanges through AsyncHttpClient. */
class TimingTest {
    private final Calls calls = new Calls();

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

    @Test
    void appliedTwiceIsAppliedOnce() throws Exception {
        DefaultAsyncHttpClientConfig.Builder builder = Dsl.config().setShutdownQuietPeriod(Duration.ZERO);
        try (TestServer server = TestServer.answering();
                AsyncHttpClient client = client(customizer(), customizer().apply(builder))) {
            for (int i = 0; i < 3; i++) {
                assertEquals(200, post(client, server.url()).getStatusCode());
                Timing timing = calls.next();
                assertEquals(i + 1, timing.attempts().get(0).connRequests().orElseThrow());
                assertEquals(i == 0 ? Calls.FRESH : Calls.REUSED, calls.names());
            }
            assertTrue(calls.none());
        }
    }

    /** AsyncHttpClient adds TLS to a connection that is made. */
    @Test
    void theHandshakeIsTimed() throws Exception {
        try (TestServer server = TestServer.answering(Identity.listener());
                AsyncHttpClient client = client(Dsl.config().setUseInsecureTrustManager(true))) {
            String url = "https://localhost:" + server.port() + "/";
            for (boolean reused : new boolean[] {false, true}) {
                client.preparePost(url).setBody("hello").execute().get(30, TimeUnit.SECONDS);
                Timing timing = calls.next();
                assertEquals(reused, timing.reused().orElseThrow());
                if (reused) {
                    assertEquals(Calls.REUSED, calls.names());
                } else {
                    calls.assertFreshOverTls(timing);
                }
            }
        }
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

    /** AsyncHttpClient follows the redirect: the channel shows two exchanges. */
    @Test
    void aRedirectIsARecord() throws Exception {
        try (TestServer server = TestServer.answering(
                        "GET /moved", "HTTP/1.1 302 Found\r\nLocation: /here\r\nContent-Length: 4\r\n\r\ngone");
                AsyncHttpClient client = client(Dsl.config().setFollowRedirect(true))) {
            client.prepareGet(server.url() + "moved").execute().get(30, TimeUnit.SECONDS);
            for (int status : new int[] {302, 200}) {
                Timing timing = calls.next();
                assertEquals(status, timing.status().orElseThrow());
                assertEquals(1, timing.attempts().size());
                assertEquals(status == 200, timing.reused().orElseThrow());
            }
            assertTrue(calls.none());
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
            assertEquals(1, names.stream().filter("response_start"::equals).count());
        }
    }

    @Test
    void anAnswerThatIsNotHttp() throws Exception {
        try (TestServer server = TestServer.answeringOnce("SSH-2.0-OpenSSH_9.2\r\n");
                AsyncHttpClient client = client()) {
            var sent = client.preparePost(server.url()).setBody("hello").execute();
            assertThrows(ExecutionException.class, () -> sent.get(30, TimeUnit.SECONDS));
            Timing timing = calls.next();
            calls.assertFailed(timing);
            assertEquals(ErrorKind.PROTOCOL, timing.errorKind().orElseThrow());
            assertEquals(Phase.WAIT, timing.errorPhase().orElseThrow());
        }
    }

    private static final class Mine extends AsyncCompletionHandlerBase {}

    /** What the client hands to its user is the user's own, and so are the bytes that it sends. */
    @Test
    void theHandlerIsTheUsers() throws Exception {
        ResponseFilter filter = new ResponseFilter() {
            @Override
            public <T> FilterContext<T> filter(FilterContext<T> context) {
                assertEquals(Mine.class, context.getAsyncHandler().getClass());
                return context;
            }
        };
        try (TestServer server = TestServer.answering();
                AsyncHttpClient client = client(Dsl.config().addResponseFilter(filter))) {
            Response response = client.preparePost(server.url())
                    .setBody(new ByteArrayBodyGenerator("hello".getBytes(StandardCharsets.US_ASCII)))
                    .setRangeOffset(100)
                    .execute(new Mine())
                    .get(30, TimeUnit.SECONDS);
            assertEquals(200, response.getStatusCode());
            assertEquals(null, server.requests().get(0).header("range"));
            assertEquals(200, calls.next().status().orElseThrow());
        }
    }

    /** AsyncHttpClient tests handlers for these classes. */
    @Test
    void handlersOfItsOwnAreTimedToo() throws Exception {
        try (TestServer server = TestServer.answering();
                AsyncHttpClient client = client()) {
            for (var handler : List.of(new TransferCompletionHandler(), new ResumableAsyncHandler(0))) {
                Response response = client.preparePost(server.url())
                        .setBody("hello")
                        .execute(handler)
                        .get(30, TimeUnit.SECONDS);
                assertEquals(200, response.getStatusCode());
                assertEquals(200, calls.next().status().orElseThrow());
            }
        }
    }

    @Test
    void aWebSocketIsNotTimed() throws Exception {
        try (TestServer server = new TestServer(connection -> {
                    connection.switchToWebSocket();
                    connection.drain();
                });
                AsyncHttpClient client = client()) {
            WebSocket socket = client.prepareGet(server.url().replace("http", "ws"))
                    .execute(new WebSocketUpgradeHandler.Builder().build())
                    .get(30, TimeUnit.SECONDS);
            assertTrue(socket.isOpen());
            assertTrue(calls.none());
        }
    }

    /** AsyncHttpClient replaces its codec when the tunnel is open. The CONNECT is no record. */
    @DisabledIfSystemProperty(
            named = "onewrite.netty-4.1",
            matches = "true",
            disabledReason = "AsyncHttpClient 3.0.1 on Netty 4.1 shows no exchange through a tunnel")
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void throughATunnel(boolean challenged) throws Exception {
        try (TestServer server = TestServer.answering(Identity.listener());
                TestServer proxy = new TestServer(connection -> {
                    String first = connection.readHead();
                    if (challenged && !first.contains("roxy-")) {
                        connection.send("HTTP/1.1 407 Who\r\nProxy-Authenticate: Basic realm=\"x\"\r\n"
                                + "Content-Length: 0\r\n\r\n");
                        connection.readHead();
                    }
                    Tunnel.open(connection, server.port());
                });
                AsyncHttpClient client = client(Dsl.config()
                        .setUseInsecureTrustManager(true)
                        .setProxyServer(new ProxyServer.Builder("127.0.0.1", proxy.port())
                                .setRealm(Dsl.basicAuthRealm("user", "secret").setUsePreemptiveAuth(false))))) {
            String url = "https://localhost:" + server.port() + "/";
            for (boolean reused : new boolean[] {false, true}) {
                assertEquals(200, post(client, url).getStatusCode());
                Timing timing = calls.next();
                assertEquals(url, timing.url());
                assertEquals(reused, timing.reused().orElseThrow());
                assertEquals(!reused, timing.connectNanos().isPresent());
                assertEquals(!reused, timing.tlsNanos().isPresent());
                assertEquals(
                        Optional.of(
                                (long) server.requests().get(0).head().length() + "5\r\nhello\r\n0\r\n\r\n".length()),
                        timing.attempts().get(0).bytesSent().stream().boxed().findFirst());
            }
            assertTrue(calls.none());
        }
    }
}
