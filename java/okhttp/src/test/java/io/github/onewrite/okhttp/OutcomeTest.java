package io.github.onewrite.okhttp;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import io.github.onewrite.ErrorKind;
import io.github.onewrite.Outcome;
import io.github.onewrite.Phase;
import io.github.onewrite.Timing;
import io.github.onewrite.testing.Calls;
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
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.Stream;
import okhttp3.Cache;
import okhttp3.Call;
import okhttp3.Callback;
import okhttp3.EventListener;
import okhttp3.Interceptor;
import okhttp3.OkHttpClient;
import okhttp3.Protocol;
import okhttp3.Request;
import okhttp3.RequestBody;
import okhttp3.Response;
import okhttp3.ResponseBody;
import okhttp3.WebSocket;
import okhttp3.WebSocketListener;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What the record says of a call is what its caller saw. */
class OutcomeTest {
    private final Calls calls = new Calls();

    private OkHttpClient client(OkHttpClient.Builder builder) {
        return calls.heard(OnewriteOkHttp.create()).apply(builder).build();
    }

    private static Request get(String url) {
        return new Request.Builder().url(url).build();
    }

    /** As Kotlin does, and Java with generics. */
    @SuppressWarnings("unchecked")
    private static <E extends Throwable> void raise(Throwable any) throws E {
        throw (E) any;
    }

    private Timing failed(ErrorKind kind) throws InterruptedException {
        Timing timing = calls.next();
        assertEquals(kind == ErrorKind.CANCELLED ? Outcome.CANCELLED : Outcome.ERROR, timing.outcome());
        assertEquals(kind, timing.errorKind().orElseThrow());
        List<String> names = calls.names();
        assertEquals("call_end", names.get(names.size() - 1));
        assertTrue(calls.none(), "one call, one record");
        return timing;
    }

    static Stream<Arguments> thrown() {
        return Stream.of(
                        new IllegalStateException("parse error"),
                        new TimeoutException("token service"),
                        new StackOverflowError(),
                        new IOException("parse error"))
                .flatMap(error -> Stream.of("before", "closed", "open").map(response -> Arguments.of(error, response)));
    }

    /** OkHttp reports callEnd for all but an IOException, and nothing at all while the response is open. */
    @ParameterizedTest(name = "{0}, response {1}")
    @MethodSource("thrown")
    void aCallWhoseInterceptorThrewIsAnError(Throwable thrown, String response) throws Exception {
        Interceptor throwing = chain -> {
            if (!response.equals("before")) {
                Response answer = chain.proceed(chain.request());
                if (response.equals("closed")) {
                    answer.close();
                }
            }
            OutcomeTest.<RuntimeException>raise(thrown);
            throw new AssertionError();
        };
        try (TestServer server = TestServer.answering()) {
            OkHttpClient client = client(new OkHttpClient.Builder().addInterceptor(throwing));
            Call call = client.newCall(get(server.url()));
            assertSame(thrown, assertThrows(Throwable.class, call::execute));
            failed(thrown instanceof TimeoutException ? ErrorKind.TIMEOUT : ErrorKind.OTHER);
        }
    }

    @Test
    void theStatusIsTheOneThatTheCallerGets(@TempDir File folder) throws Exception {
        try (TestServer server = TestServer.answering()) {
            OkHttpClient cached = client(new OkHttpClient.Builder()
                    .cache(new Cache(folder, 1 << 20))
                    .addNetworkInterceptor(chain -> chain.proceed(chain.request())
                            .newBuilder()
                            .header("Cache-Control", "max-age=60")
                            .build()));
            for (int attempts : new int[] {1, 0}) {
                try (Response response = cached.newCall(get(server.url())).execute()) {
                    response.body().string();
                }
                assertStatus(200, attempts);
            }
            OkHttpClient changed =
                    client(new OkHttpClient.Builder().addInterceptor(chain -> chain.proceed(chain.request())
                            .newBuilder()
                            .code(250)
                            .build()));
            changed.newCall(get(server.url())).execute().close();
            assertStatus(250, 1);
            OkHttpClient made = client(new OkHttpClient.Builder().addInterceptor(chain -> new Response.Builder()
                    .request(chain.request())
                    .protocol(Protocol.HTTP_1_1)
                    .code(299)
                    .message("made")
                    .body(ResponseBody.create("", null)) // OkHttp 4 refuses a response without one
                    .build()));
            made.newCall(get(server.url())).execute().close();
            assertStatus(299, 0);
        }
    }

    private void assertStatus(int status, int onTheWire) throws InterruptedException {
        Timing timing = calls.next();
        assertEquals(OptionalInt.of(status), timing.status());
        assertEquals(status, timing.toMap().get("status"));
        assertEquals(
                onTheWire,
                timing.attempts().stream()
                        .filter(attempt -> attempt.status().equals(OptionalInt.of(200)))
                        .count());
    }

    /** OkHttp throws InterruptedException while it connects, and an InterruptedIOException later. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void anInterruptedCallerGaveUp(boolean connecting) throws Exception {
        try (TestServer server = TestServer.silent()) {
            Interceptor interrupting = chain -> {
                Thread.currentThread().interrupt();
                return chain.proceed(chain.request());
            };
            OkHttpClient.Builder builder = new OkHttpClient.Builder();
            OkHttpClient client = client(
                    connecting ? builder.addInterceptor(interrupting) : builder.addNetworkInterceptor(interrupting));
            Call call = client.newCall(get(server.url()));
            assertThrows(Throwable.class, call::execute);
            Thread.interrupted();
            failed(ErrorKind.CANCELLED);
        }
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

    /** A time limit of the whole call cancels the call. */
    @Test
    void aCallThatWasCancelled() {
        assertEquals(ErrorKind.CANCELLED, OkHttpErrors.kindOf(new IOException("Socket closed"), true));
        assertEquals(ErrorKind.TIMEOUT, OkHttpErrors.kindOf(new InterruptedIOException("timeout"), true));
        assertEquals(ErrorKind.OTHER, OkHttpErrors.kindOf(new IllegalStateException(), true));
    }

    /** OkHttp reports the end of a body that is closed as of one that is read. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aBodyOfUnknownLength(boolean read) throws Exception {
        String answer = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n";
        try (TestServer server = TestServer.answering("GET /", answer)) {
            try (Response response = client(new OkHttpClient.Builder())
                    .newCall(get(server.url()))
                    .execute()) {
                if (read) {
                    assertEquals("hello", response.body().string());
                }
            }
            assertEquals(read, calls.next().receiveNanos().isPresent());
            assertEquals(read, calls.names().contains("response_end"));
        }
    }

    @Test
    void aTimeLimitOfTheCall() throws Exception {
        try (TestServer server = TestServer.silent()) {
            OkHttpClient client = client(new OkHttpClient.Builder().callTimeout(Duration.ofMillis(300)));
            assertThrows(InterruptedIOException.class, () -> client.newCall(get(server.url()))
                    .execute());
            assertEquals(Phase.WAIT, failed(ErrorKind.TIMEOUT).errorPhase().orElseThrow());
        }
    }

    @Test
    void aDispatcherThatIsShutDown() throws Exception {
        OkHttpClient client = client(new OkHttpClient.Builder());
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
        failed(ErrorKind.POOL);
    }

    /** Interim answers are none: neither the one that was asked for, nor any other. */
    @Test
    void theFinalAnswerEndsTheWait() throws Exception {
        CountDownLatch never = new CountDownLatch(1);
        // OkHttp 4, which has no EventListener.plus, reads one interim answer at most.
        boolean several = Stream.of(EventListener.class.getMethods())
                .anyMatch(method -> method.getName().equals("plus"));
        try (TestServer server = new TestServer(connection -> {
            while (true) {
                boolean expects = connection.readHead().contains("100-continue");
                assertFalse(never.await(200, TimeUnit.MILLISECONDS));
                connection.send(
                        expects ? "HTTP/1.1 100 Continue\r\n\r\n" : "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n");
                assertFalse(never.await(200, TimeUnit.MILLISECONDS));
                if (expects) {
                    connection.in().readNBytes(5);
                    assertFalse(never.await(200, TimeUnit.MILLISECONDS));
                }
                connection.send((several ? "HTTP/1.1 103 Early Hints\r\n\r\n" : "") + TestServer.OK);
            }
        })) {
            OkHttpClient client = client(new OkHttpClient.Builder());
            Request plain = get(server.url());
            Request expecting = plain.newBuilder()
                    .header("Expect", "100-continue")
                    .post(RequestBody.create(new byte[5], null))
                    .build();
            for (Request request : List.of(expecting, plain)) {
                client.newCall(request).execute().close();
                Timing timing = calls.next();
                assertEquals(200, timing.status().orElseThrow());
                assertTrue(timing.waitNanos().orElse(0) > 190_000_000, timing::toString);
                assertEquals(request == expecting, timing.sendNanos().orElseThrow() > 190_000_000, timing::toString);
                assertEquals(
                        1,
                        calls.names().stream().filter("response_start"::equals).count());
            }
        }
    }

    /** The response ends with its head, also when its caller never reads on. */
    @ParameterizedTest
    @ValueSource(strings = {"HEAD 200", "GET 204", "GET 304"})
    void anAnswerWithoutABody(String what) throws Exception {
        String[] words = what.split(" ");
        String length = words[1].equals("200") ? "Content-Length: 7\r\n" : "";
        try (TestServer server = TestServer.answering("HTTP/1.1 " + words[1] + " Fine\r\n" + length + "\r\n")) {
            OkHttpClient client = client(new OkHttpClient.Builder());
            Request request =
                    get(server.url()).newBuilder().method(words[0], null).build();
            try (Response response = client.newCall(request).execute()) {
                Thread.sleep(100);
                assertEquals(words[1], Integer.toString(response.code()));
            }
            Timing timing = calls.next();
            assertEquals(0, timing.attempts().get(0).bytesReceived().orElseThrow());
            assertTrue(timing.receiveNanos().orElseThrow() < 100_000_000, timing::toString);
        }
    }

    /** OkHttp reads the rest of a short body when it is closed. */
    @Test
    void aBodyThatWasGivenUp() throws Exception {
        try (TestServer server = TestServer.answering()) {
            OkHttpClient client = client(new OkHttpClient.Builder());
            client.newCall(get(server.url())).execute().close();
            Timing timing = calls.next();
            assertEquals(Outcome.OK, timing.outcome());
            assertTrue(timing.receiveNanos().isEmpty(), timing::toString);
        }
    }

    /** A call may be made ahead, and need not be executed. */
    @Test
    void theClockStartsWithTheCall() throws Exception {
        try (TestServer server = TestServer.answering()) {
            OkHttpClient client = client(new OkHttpClient.Builder());
            Call call = client.newCall(get(server.url()));
            client.newCall(get(server.url()));
            Thread.sleep(200);
            long before = System.nanoTime();
            call.execute().close();
            Timing timing = calls.next();
            assertTrue(timing.startedAtMonoNanos() >= before, timing::toString);
            assertTrue(timing.totalNanos() <= System.nanoTime() - before, timing::toString);
            assertTrue(calls.none());
        }
    }

    /** OkHttp keeps the connection for the next attempt, or takes another. */
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
                })) {
            OkHttpClient client = client(new OkHttpClient.Builder());
            for (String path : List.of("near", "far")) {
                client.newCall(get(server.url() + path)).execute().close();
                Timing timing = calls.next();
                assertEquals(
                        List.of(302, 200),
                        timing.attempts().stream()
                                .map(attempt -> attempt.status().orElseThrow())
                                .toList(),
                        path);
                assertEquals(
                        path.equals("near"), timing.attempts().get(0).connId().equals(timing.connId()));
                assertEquals(path.equals("near"), timing.reused().orElseThrow());
                assertEquals(
                        2,
                        calls.names().stream()
                                .filter("connection_released"::equals)
                                .count());
            }
        }
    }

    /** Also one that cannot be reached, or whose name does not resolve. */
    @Test
    void theProxyIsNamed() throws Exception {
        int unused = TestServer.unusedPort();
        for (InetSocketAddress proxy : List.of(
                new InetSocketAddress("127.0.0.1", unused),
                InetSocketAddress.createUnresolved("proxy.invalid", 3128))) {
            OkHttpClient client = client(new OkHttpClient.Builder().proxy(new Proxy(Proxy.Type.HTTP, proxy)));
            assertThrows(IOException.class, () -> client.newCall(get("http://shop.invalid/"))
                    .execute());
            Timing timing = calls.next();
            assertEquals(Optional.of(proxy.getHostString() + ":" + proxy.getPort()), timing.proxy());
        }
        try (TestServer server = TestServer.answering()) {
            InetSocketAddress up = new InetSocketAddress("127.0.0.1", server.port());
            OkHttpClient direct = client(new OkHttpClient.Builder());
            OkHttpClient through = client(new OkHttpClient.Builder().proxy(new Proxy(Proxy.Type.HTTP, up)));
            for (int i = 0; i < 2; i++) {
                through.newCall(get("http://shop.invalid/")).execute().close();
                Timing timing = calls.next();
                assertEquals(Optional.of("127.0.0.1:" + server.port()), timing.proxy());
                assertEquals(i == 1, timing.reused().orElseThrow());
                direct.newCall(get(server.url())).execute().close();
                assertEquals(Optional.empty(), calls.next().proxy());
            }
        }
    }

    /** OkHttp replaces the listeners of a WebSocket's call. */
    @Test
    void aWebSocketIsNotTimed() throws Exception {
        CompletableFuture<Boolean> open = new CompletableFuture<>();
        try (TestServer server = new TestServer(connection -> {
            connection.switchToWebSocket();
            connection.drain();
        })) {
            OkHttpClient client = client(new OkHttpClient.Builder());
            WebSocket socket = client.newWebSocket(get(server.url()), new WebSocketListener() {
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
            assertTrue(calls.none());
        }
    }
}
