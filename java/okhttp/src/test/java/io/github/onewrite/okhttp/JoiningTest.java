package io.github.onewrite.okhttp;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import io.github.onewrite.ErrorKind;
import io.github.onewrite.ErrorKinds;
import io.github.onewrite.testing.Eventually;
import io.github.onewrite.testing.SegmentServer;
import io.github.onewrite.testing.TestServer;
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import okhttp3.FormBody;
import okhttp3.MediaType;
import okhttp3.MultipartBody;
import okhttp3.OkHttpClient;
import okhttp3.Request;
import okhttp3.RequestBody;
import okhttp3.Response;
import okhttp3.WebSocket;
import okhttp3.WebSocketListener;
import okio.BufferedSink;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Which writes of OkHttp are joined: never those behind which something is waited for. */
class JoiningTest {
    @TempDir
    private static Path dir;

    private final List<Integer> writes = new ArrayList<>();
    private final JoiningOutput output = new JoiningOutput(
            new OutputStream() {
                @Override
                public void write(int value) {
                    throw new UnsupportedOperationException();
                }

                @Override
                public void write(byte[] bytes, int offset, int length) {
                    writes.add(length);
                }
            },
            16_384);

    private void write(int... sizes) throws IOException {
        for (int size : sizes) {
            output.write(new byte[size], 0, size);
        }
    }

    /** HTTP/2, a WebSocket, a tunnel: OkHttp may wait behind a write that it does not flush. */
    @Test
    void whatIsNotArmedPasses() throws Exception {
        write(200, 8192, 1);
        assertEquals(List.of(200, 8192, 1), writes);
        output.join(true);
        write(100);
        output.flush();
        write(9);
        assertEquals(List.of(200, 8192, 1, 100, 9), writes);
    }

    @Test
    void theHeadWaitsForTheFirstBytesOfTheBodyAndNoLonger() throws Exception {
        output.join(false);
        write(200);
        assertEquals(List.of(), writes);
        write(8192);
        assertEquals(List.of(8392), writes);
        write(3000);
        output.flush();
        assertEquals(List.of(8392, 3000), writes);
    }

    @Test
    void aLargeHeadDoesNotWait() throws Exception {
        output.join(false);
        write(8192);
        assertEquals(List.of(8192), writes);
        output.join(false);
        write(8000, 9000, 5);
        assertEquals(List.of(8192, 16_384, 616, 5), writes);
    }

    @Test
    void aRequestInMemoryLeavesInFullPieces() throws Exception {
        output.join(true);
        write(200, 8192, 8192, 8192, 8192, 7232);
        output.flush();
        assertEquals(List.of(16_384, 16_384, 7432), writes);
    }

    /** A limit below Okio's segments makes no more writes than OkHttp alone. */
    @Test
    void whatExceedsTheLimitIsNotCut() throws Exception {
        output.join(true);
        write(20_000);
        output.flush();
        output.join(true);
        write(10_000, 30_000);
        output.flush();
        assertEquals(List.of(20_000, 16_384, 23_616), writes);
    }

    /** OkHttp has written the head when the caller's body fails: the server gets it, as from OkHttp alone. */
    @Test
    void aFailedRequestKeepsNothingBack() throws Exception {
        output.join(false);
        write(200);
        output.fail();
        write(3);
        assertEquals(List.of(200, 3), writes);
    }

    static Stream<Arguments> bodies() throws IOException {
        File file = Files.write(dir.resolve("body"), new byte[12_000]).toFile();
        return Stream.of(
                Arguments.of(1, RequestBody.create(new byte[12_000], null)),
                Arguments.of(1, RequestBody.create("x".repeat(12_000), null)),
                Arguments.of(1, RequestBody.create(file, null)),
                Arguments.of(
                        1, new FormBody.Builder().add("x", "y".repeat(12_000)).build()),
                Arguments.of(
                        1,
                        new MultipartBody.Builder()
                                .addFormDataPart("x", "y".repeat(12_000))
                                .build()),
                Arguments.of(2, new Own(() -> {})),
                Arguments.of(
                        2,
                        new MultipartBody.Builder().addPart(new Own(() -> {})).build()));
    }

    /** A body of the caller's, who may do anything after 12,000 bytes. */
    private static final class Own extends RequestBody {
        private final Runnable after;

        Own(Runnable after) {
            this.after = after;
        }

        @Override
        public MediaType contentType() {
            return null;
        }

        @Override
        public void writeTo(BufferedSink sink) throws IOException {
            sink.write(new byte[12_000]);
            after.run();
        }
    }

    /** OkHttp's own bodies run no code of the caller's, so they are one write. */
    @ParameterizedTest
    @MethodSource("bodies")
    void ownBodiesAreNotHeld(int atLeast, RequestBody body) throws Exception {
        try (SegmentServer server = new SegmentServer()) {
            OkHttpClient client =
                    OnewriteOkHttp.create().apply(new OkHttpClient.Builder()).build();
            for (int i = 0; i < SegmentServer.REQUESTS; i++) {
                Request request =
                        new Request.Builder().url(server.url()).post(body).build();
                client.newCall(request).execute().close();
            }
            int mode = server.mode();
            assertTrue(atLeast == 1 ? mode == 1 : mode >= 2, server.segments()::toString);
        }
    }

    /** The bytes that a peer gets before the body's own pause, or error, ends. */
    private static int before(OkHttpClient client, boolean fails) throws Exception {
        CompletableFuture<Integer> seen = new CompletableFuture<>();
        try (TestServer server = new TestServer(connection -> {
            ByteArrayOutputStream all = new ByteArrayOutputStream();
            connection.socket().setSoTimeout(fails ? 5000 : 500);
            try {
                connection.in().transferTo(all);
            } catch (IOException e) {
                // The pause.
            }
            seen.complete(all.size());
        })) {
            RequestBody body = new Own(() -> {
                if (fails) {
                    throw new IllegalStateException("example");
                }
                seen.orTimeout(30, TimeUnit.SECONDS).join();
            });
            Request request = new Request.Builder().url(server.url()).post(body).build();
            assertThrows(
                    Exception.class, () -> client.newCall(request).execute().close());
            return Eventually.of(seen);
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void whatStockSendsBeforeAPauseOrAnErrorIsSent(boolean fails) throws Exception {
        OkHttpClient.Builder builder = new OkHttpClient.Builder().retryOnConnectionFailure(false);
        int stock = before(builder.build(), fails);
        assertTrue(stock > 8192, () -> "the control: " + stock);
        assertEquals(stock, before(OnewriteOkHttp.create().apply(builder).build(), fails));
    }

    /** OkHttp emits a message without a flush. */
    @Test
    void aWebSocketsMessageIsNotHeld() throws Exception {
        CompletableFuture<Integer> received = new CompletableFuture<>();
        try (TestServer server = new TestServer(connection -> {
            connection.switchToWebSocket();
            received.complete(connection.in().readNBytes(7).length);
        })) {
            OkHttpClient client =
                    OnewriteOkHttp.create().apply(new OkHttpClient.Builder()).build();
            client.newWebSocket(new Request.Builder().url(server.url()).build(), new WebSocketListener() {
                @Override
                public void onOpen(WebSocket socket, Response response) {
                    socket.send("x");
                }
            });
            assertEquals(7, received.get(20, TimeUnit.SECONDS));
            client.dispatcher().executorService().shutdown();
        }
    }

    /** The rows of spec/testdata that are for Java. */
    static Stream<JsonObject> errors() throws IOException {
        return JsonParser.parseString(Files.readString(Path.of("..", "..", "spec", "testdata", "error_kinds.json")))
                .getAsJsonObject()
                .getAsJsonArray("rows")
                .asList()
                .stream()
                .map(JsonElement::getAsJsonObject)
                .filter(row -> row.has("java"));
    }

    @ParameterizedTest
    @MethodSource("errors")
    void errorKinds(JsonObject row) throws Exception {
        for (JsonElement each : row.getAsJsonArray("java")) {
            ErrorKind kind = ErrorKinds.of(error(each.getAsJsonObject()), OkHttpErrors::kindOf);
            assertEquals(row.get("kind").getAsString(), kind.canonicalName(), each.toString());
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
}
