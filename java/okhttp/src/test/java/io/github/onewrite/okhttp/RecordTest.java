package io.github.onewrite.okhttp;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import io.github.onewrite.ErrorKind;
import io.github.onewrite.Outcome;
import io.github.onewrite.Phase;
import io.github.onewrite.Timing;
import io.github.onewrite.testing.Records;
import io.github.onewrite.testing.TestServer;
import java.io.File;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.net.InetSocketAddress;
import java.net.Proxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import okhttp3.Cache;
import okhttp3.Call;
import okhttp3.Callback;
import okhttp3.Connection;
import okhttp3.EventListener;
import okhttp3.Interceptor;
import okhttp3.MediaType;
import okhttp3.OkHttpClient;
import okhttp3.Protocol;
import okhttp3.Request;
import okhttp3.RequestBody;
import okhttp3.Response;
import okhttp3.ResponseBody;
import okhttp3.WebSocket;
import okhttp3.WebSocketListener;
import okio.BufferedSink;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Each request that is sent has a record, which says what its program saw. */
class RecordTest {
    private static final String CHUNKED = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

    private final Records records = new Records();

    private OkHttpClient client(OkHttpClient.Builder builder) {
        return records.addTo(OnewriteOkHttp.create()).apply(builder).build();
    }

    private OkHttpClient client() {
        return client(new OkHttpClient.Builder());
    }

    private static Request get(String url) {
        return new Request.Builder().url(url).build();
    }

    private static void read(OkHttpClient client, String url) throws IOException {
        try (Response response = client.newCall(get(url)).execute()) {
            response.body().bytes();
        }
    }

    /** What a cache or an interceptor answers is no request. */
    @Test
    void anAnswerThatIsMadeHasNoRecord(@TempDir File folder) throws Exception {
        try (TestServer server = TestServer.answering()) {
            OkHttpClient cached = client(new OkHttpClient.Builder()
                    .cache(new Cache(folder, 1 << 20))
                    .addNetworkInterceptor(chain -> chain.proceed(chain.request())
                            .newBuilder()
                            .header("Cache-Control", "max-age=60")
                            .build()));
            read(cached, server.url());
            assertEquals(OptionalInt.of(200), records.next().status());
            read(cached, server.url());
            read(client(new OkHttpClient.Builder().addInterceptor(chain -> made(chain.request()))), server.url());
            assertTrue(records.isEmpty());
        }
    }

    private static Response made(Request request) {
        return new Response.Builder()
                .request(request)
                .protocol(Protocol.HTTP_1_1)
                .code(299)
                .message("made")
                .body(ResponseBody.create("", null)) // OkHttp 4 refuses a response without one
                .build();
    }

    /** The program gets the fallback, the record shows the request that was lost. */
    @ParameterizedTest
    @CsvSource({"closed, CLOSED, WAIT", "refused, CONNECT, CONNECT", "unknown, DNS, DNS"})
    void aFallbackHidesNothing(String how, ErrorKind kind, Phase phase) throws Exception {
        try (TestServer server = TestServer.closingAt(1)) {
            String url =
                    switch (how) {
                        case "closed" -> server.url();
                        case "refused" -> "http://127.0.0.1:" + TestServer.unusedPort() + "/";
                        default -> "http://no.such.host.invalid/";
                    };
            OkHttpClient client = client(
                    new OkHttpClient.Builder().retryOnConnectionFailure(false).addInterceptor(chain -> {
                        try {
                            return chain.proceed(chain.request());
                        } catch (IOException e) {
                            return made(chain.request());
                        }
                    }));
            read(client, url);
            assertEquals(Optional.of(phase), records.failed(kind).errorPhase());
        }
    }

    /** OkHttp keeps the connection for the next request, or takes another. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aRedirectHasARecordOfItsOwn(boolean near) throws Exception {
        try (TestServer other = TestServer.answering();
                TestServer server = new TestServer(connection -> {
                    String to = near ? "/second" : other.url() + "second?q";
                    connection.read();
                    connection.send("HTTP/1.1 302 Found\r\nLocation: " + to + "\r\nContent-Length: 4\r\n\r\ngone");
                    connection.answerAll(TestServer.OK);
                })) {
            read(client(), server.url() + "first");
            Timing first = records.next();
            Timing second = records.next();
            assertEquals(
                    List.of(302, 200),
                    List.of(first.status().getAsInt(), second.status().getAsInt()));
            assertEquals(server.url() + "first", first.url());
            assertEquals((near ? server : other).url() + "second", second.url());
            assertEquals(List.of(OptionalInt.empty(), OptionalInt.of(1)), List.of(first.resend(), second.resend()));
            assertEquals(near, first.connId().equals(second.connId()));
            assertEquals(near ? Records.REUSED : Records.FRESH, Records.names(second));
            assertTrue(Records.names(first).contains("connection_released"));
            assertTrue(first.startedAtMonoNanos() + first.totalNanos() <= second.startedAtMonoNanos());
        }
    }

    /** OkHttp sends a request again when a pooled connection fails. */
    @Test
    void aRequestThatIsSentAgain() throws Exception {
        try (TestServer server = TestServer.closingAt(2)) {
            OkHttpClient client = client();
            read(client, server.url());
            read(client, server.url());
            records.next();
            Timing lost = records.next();
            assertEquals(Optional.of(ErrorKind.CLOSED), lost.errorKind());
            assertEquals(Optional.of(Phase.WAIT), lost.errorPhase());
            Timing sent = records.next();
            assertEquals(Outcome.OK, sent.outcome());
            assertEquals(OptionalInt.of(1), sent.resend());
            assertEquals(Records.FRESH, Records.names(sent));
        }
    }

    /** OkHttp 4 acquires a pooled connection before it finds that the server has closed it, and connects anew. */
    @Test
    void aConnectionThatWasFoundClosed() throws Exception {
        List<Connection> connections = new CopyOnWriteArrayList<>();
        try (TestServer server = TestServer.answering("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")) {
            OkHttpClient two = new OkHttpClient.Builder()
                    .eventListener(new EventListener() {
                        @Override
                        public void connectionAcquired(Call call, Connection connection) {
                            connections.add(connection);
                        }
                    })
                    .build();
            for (int i = 0; i < 2; i++) {
                two.newCall(get(server.url())).execute().close();
            }
        }
        Call call = client().newCall(get("http://127.0.0.1/"));
        EventListener events = client().eventListenerFactory().create(call);
        InetSocketAddress address = new InetSocketAddress("127.0.0.1", 80);
        events.callStart(call);
        events.connectionAcquired(call, connections.get(0));
        events.connectionReleased(call, connections.get(0));
        events.connectStart(call, address, Proxy.NO_PROXY);
        events.connectEnd(call, address, Proxy.NO_PROXY, Protocol.HTTP_1_1);
        events.connectionAcquired(call, connections.get(1));
        events.requestHeadersStart(call);
        events.requestHeadersEnd(call, call.request());
        events.responseHeadersEnd(call, made(call.request()));
        events.responseBodyEnd(call, 0);
        events.connectionReleased(call, connections.get(1));
        events.callEnd(call);
        Timing timing = records.next();
        assertEquals(Optional.of(false), timing.reused());
        assertEquals(OptionalInt.empty(), timing.resend());
        assertEquals(Records.FRESH, Records.names(timing));
    }

    /** OkHttp reports the end of a body that is closed as of one that is read. */
    @Test
    void aBodyThatWasGivenUp() throws Exception {
        String large = "HTTP/1.1 200 OK\r\nContent-Length: 3000000\r\n\r\n" + "x".repeat(3_000_000);
        try (TestServer server = TestServer.answering("GET /large", large)) {
            for (String path : List.of("large", "")) {
                try (Response response =
                        client().newCall(get(server.url() + path)).execute()) {
                    if (!path.isEmpty()) {
                        response.body().source().readByte();
                    }
                }
                Timing timing = records.next();
                assertEquals(Outcome.OK, timing.outcome());
                assertEquals(OptionalLong.empty(), timing.receiveNanos());
                assertFalse(Records.names(timing).contains("response_end"));
                assertTrue(timing.bytesReceived().getAsLong() <= (path.isEmpty() ? 0 : 100_000), timing::toString);
            }
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "5\r\nhello\r\n"})
    void aChunkedBody(String chunks) throws Exception {
        try (TestServer server = TestServer.answering(CHUNKED + chunks + "0\r\n\r\n")) {
            read(client(), server.url());
            Timing timing = records.next();
            assertEquals(OptionalLong.of(chunks.isEmpty() ? 0 : 5), timing.bytesReceived());
            assertEquals(Records.FRESH, Records.names(timing));
        }
    }

    /** The response ends with its head, also when its caller never reads on. */
    @ParameterizedTest
    @ValueSource(strings = {"HEAD 200", "GET 204", "GET 304"})
    void anAnswerWithoutABody(String what) throws Exception {
        String[] words = what.split(" ");
        String length = words[1].equals("200") ? "Content-Length: 7\r\n" : "";
        try (TestServer server = TestServer.answering("HTTP/1.1 " + words[1] + " Fine\r\n" + length + "\r\n")) {
            Request request =
                    get(server.url()).newBuilder().method(words[0], null).build();
            try (Response response = client().newCall(request).execute()) {
                assertEquals(words[1], Integer.toString(response.code()));
                Timing timing = records.next();
                assertEquals(OptionalLong.of(0), timing.bytesReceived());
                assertEquals(Records.FRESH, Records.names(timing));
            }
        }
    }

    @Test
    void aBodyThatIsCutOff() throws Exception {
        try (TestServer server = new TestServer(connection -> {
            connection.read();
            connection.send("HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\ncut");
        })) {
            assertThrows(IOException.class, () -> read(client(), server.url()));
            Timing timing = records.failed(ErrorKind.CLOSED);
            assertEquals(OptionalInt.of(200), timing.status());
            assertEquals(Optional.of(Phase.RECEIVE), timing.errorPhase());
            assertTrue(timing.receiveNanos().isPresent());
        }
    }

    /** OkHttp reads on after a failed write. */
    @Test
    void anEarlyAnswer() throws Exception {
        try (TestServer server = new TestServer(connection -> {
            connection.readHead();
            connection.send("HTTP/1.1 413 Too Large\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
            connection.socket().shutdownOutput();
            Thread.sleep(50);
            connection.reset();
        })) {
            RequestBody large = RequestBody.create(new byte[30_000_000], null);
            Request request = get(server.url()).newBuilder().post(large).build();
            try (Response response = client().newCall(request).execute()) {
                assertEquals(413, response.code());
                Timing timing = records.next();
                assertEquals(OptionalInt.of(413), timing.status());
                assertEquals(Outcome.OK, timing.outcome());
            } catch (IOException e) {
                // The reset took the answer away.
                assertEquals(Outcome.ERROR, records.next().outcome());
            }
        }
    }

    /** The program's body throws: OkHttp reports callEnd for all but an IOException. */
    @Test
    void aBodyThatThrows() throws Exception {
        RequestBody throwing = new RequestBody() {
            @Override
            public MediaType contentType() {
                return null;
            }

            @Override
            public void writeTo(BufferedSink sink) {
                throw new IllegalStateException("from the body");
            }
        };
        try (TestServer server = TestServer.silent()) {
            Request request = get(server.url()).newBuilder().post(throwing).build();
            assertThrows(
                    IllegalStateException.class, () -> client().newCall(request).execute());
            assertEquals(
                    Optional.of(Phase.SEND), records.failed(ErrorKind.OTHER).errorPhase());
        }
    }

    @Test
    void aCallThatWasCancelled() throws Exception {
        CountDownLatch received = new CountDownLatch(1);
        try (TestServer server = new TestServer(connection -> {
            connection.read();
            received.countDown();
            connection.drain();
        })) {
            Call call = client().newCall(get(server.url()));
            Thread cancelling = new Thread(() -> {
                try {
                    received.await();
                } catch (InterruptedException e) {
                    throw new IllegalStateException(e);
                }
                call.cancel();
            });
            cancelling.start();
            assertThrows(IOException.class, call::execute);
            assertEquals(
                    Optional.of(Phase.WAIT), records.failed(ErrorKind.CANCELLED).errorPhase());
        }
        assertEquals(ErrorKind.TIMEOUT, OkHttpErrors.kindOf(new InterruptedIOException("timeout"), true));
    }

    /** OkHttp throws an InterruptedIOException where it waits for an answer. */
    @Test
    void anInterruptedCallerGaveUp() throws Exception {
        try (TestServer server = TestServer.silent()) {
            Interceptor interrupting = chain -> {
                Thread.currentThread().interrupt();
                return chain.proceed(chain.request());
            };
            Call call = client(new OkHttpClient.Builder().addNetworkInterceptor(interrupting))
                    .newCall(get(server.url()));
            assertThrows(Throwable.class, call::execute);
            Thread.interrupted();
            records.failed(ErrorKind.CANCELLED);
        }
    }

    /** A time limit of the whole call cancels the call. */
    @Test
    void aTimeLimitOfTheCall() throws Exception {
        try (TestServer server = TestServer.silent()) {
            OkHttpClient client = client(new OkHttpClient.Builder().callTimeout(Duration.ofSeconds(1)));
            assertThrows(InterruptedIOException.class, () -> read(client, server.url()));
            assertEquals(
                    Optional.of(Phase.WAIT), records.failed(ErrorKind.TIMEOUT).errorPhase());
        }
    }

    @Test
    void aDispatcherThatIsShutDown() throws Exception {
        OkHttpClient client = client();
        client.dispatcher().executorService().shutdown();
        CompletableFuture<IOException> failure = new CompletableFuture<>();
        client.newCall(get("http://127.0.0.1/")).enqueue(new Callback() {
            @Override
            public void onFailure(Call call, IOException e) {
                failure.complete(e);
            }

            @Override
            public void onResponse(Call call, Response response) {}
        });
        failure.get(30, TimeUnit.SECONDS);
        records.failed(ErrorKind.POOL);
    }

    /** The rows of spec/testdata that are for Java. */
    static Stream<JsonElement> rows() throws IOException {
        return JsonParser.parseString(Files.readString(Path.of("..", "..", "spec", "testdata", "error_kinds.json")))
                .getAsJsonObject()
                .getAsJsonArray("rows")
                .asList()
                .stream()
                .filter(row -> row.getAsJsonObject().has("java"));
    }

    @ParameterizedTest
    @MethodSource("rows")
    void kindsOfErrors(JsonElement row) throws Exception {
        String kind = row.getAsJsonObject().get("kind").getAsString();
        for (JsonElement each : row.getAsJsonObject().getAsJsonArray("java")) {
            Throwable error = error(each.getAsJsonObject());
            assertEquals(kind, OkHttpErrors.kindOf(error, false).canonicalName(), error::toString);
        }
    }

    private static Throwable error(JsonObject from) throws Exception {
        Class<? extends Throwable> type =
                Class.forName(from.get("class").getAsString()).asSubclass(Throwable.class);
        Throwable made = from.has("message")
                ? type.getConstructor(String.class)
                        .newInstance(from.get("message").getAsString())
                : type.getConstructor().newInstance();
        return from.has("cause") ? made.initCause(error(from.getAsJsonObject("cause"))) : made;
    }

    /** Interim answers are none: neither the one that was asked for, nor any other. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void theFinalAnswerEndsTheWait(boolean expects) throws Exception {
        try (TestServer server = new TestServer(connection -> {
            connection.readHead();
            Thread.sleep(200);
            connection.send(expects ? "HTTP/1.1 100 Continue\r\n\r\n" : "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n");
            if (expects) {
                connection.in().readNBytes(5);
            }
            Thread.sleep(200);
            connection.send(TestServer.OK);
        })) {
            Request request = get(server.url());
            if (expects) {
                request = request.newBuilder()
                        .header("Expect", "100-continue")
                        .post(RequestBody.create(new byte[5], null))
                        .build();
            }
            client().newCall(request).execute().close();
            Timing timing = records.next();
            assertEquals(OptionalInt.of(200), timing.status());
            long sent = timing.sendNanos().getAsLong();
            long waited = timing.waitNanos().getAsLong();
            assertTrue(waited > (expects ? 100_000_000 : 300_000_000), timing::toString);
            assertTrue(expects ? sent > 190_000_000 : sent < waited, timing::toString);
        }
    }

    /** A call may be made ahead, and need not be executed. */
    @Test
    void theClockStartsWithTheCall() throws Exception {
        try (TestServer server = TestServer.answering()) {
            OkHttpClient client = client();
            Call call = client.newCall(get(server.url()));
            client.newCall(get(server.url()));
            Thread.sleep(50);
            long before = System.nanoTime();
            call.execute().close();
            assertTrue(records.next().startedAtMonoNanos() >= before);
            assertTrue(records.isEmpty());
        }
    }

    /** Also one that cannot be reached, or whose name does not resolve. */
    @Test
    void theProxyIsNamed() throws Exception {
        for (InetSocketAddress proxy : List.of(
                new InetSocketAddress("127.0.0.1", TestServer.unusedPort()),
                InetSocketAddress.createUnresolved("proxy.invalid", 3128))) {
            OkHttpClient client = client(new OkHttpClient.Builder().proxy(new Proxy(Proxy.Type.HTTP, proxy)));
            assertThrows(IOException.class, () -> read(client, "http://shop.invalid/"));
            assertEquals(
                    Optional.of(proxy.getHostString() + ":" + proxy.getPort()),
                    records.next().proxy());
        }
        try (TestServer server = TestServer.answering()) {
            InetSocketAddress up = new InetSocketAddress("127.0.0.1", server.port());
            OkHttpClient through = client(new OkHttpClient.Builder().proxy(new Proxy(Proxy.Type.HTTP, up)));
            for (boolean reused : new boolean[] {false, true}) {
                read(through, "http://shop.invalid/");
                Timing timing = records.next();
                assertEquals(Optional.of("127.0.0.1:" + server.port()), timing.proxy());
                assertEquals(Optional.of(reused), timing.reused());
                assertEquals(reused, timing.idleNanos().isPresent());
            }
            read(client(), server.url());
            assertEquals(Optional.empty(), records.next().proxy());
        }
    }

    /** OkHttp replaces the listeners of a WebSocket's call. */
    @Test
    void aWebSocketHasNoRecord() throws Exception {
        CompletableFuture<Boolean> open = new CompletableFuture<>();
        try (TestServer server = new TestServer(connection -> {
            connection.switchToWebSocket();
            connection.drain();
        })) {
            WebSocket socket = client().newWebSocket(get(server.url()), new WebSocketListener() {
                @Override
                public void onOpen(WebSocket webSocket, Response response) {
                    open.complete(true);
                }

                @Override
                public void onFailure(WebSocket webSocket, Throwable t, Response response) {
                    open.completeExceptionally(t);
                }
            });
            assertTrue(open.get(30, TimeUnit.SECONDS));
            socket.cancel();
            assertTrue(records.isEmpty());
        }
    }
}
