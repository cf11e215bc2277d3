package io.github.onewrite.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.onewrite.ErrorKind;
import io.github.onewrite.OnewriteException;
import io.github.onewrite.testing.Eventually;
import io.github.onewrite.testing.TestServer;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Requests that are refused before they are sent, and responses that are refused. */
class BadInputTest {
    private static OnewriteException refused(OnewriteClient client, Request.Builder request) {
        return assertThrows(OnewriteException.class, () -> client.execute(request));
    }

    /** None of them may open a connection. */
    static List<Request.Builder> badRequests() {
        String url = "http://127.0.0.1:1/";
        return List.of(
                Request.get("nonsense"),
                Request.get("ftp://example.org/"),
                Request.get("http:///path"),
                Request.get("http://user:secret@example.org/"),
                Request.get("http://example.org:99999/"),
                Request.get(url + "a b"),
                Request.get(url + "a\r\nb: c"),
                Request.get(url + "ä"),
                Request.method("GE T", url),
                Request.method("", url),
                Request.method("CONNECT", url),
                Request.get(url).header("a\r\nb", "c"),
                Request.get(url).header("", "c"),
                Request.get(url).header("a:", "c"),
                Request.get(url).header("a", "b\r\nc: d"),
                Request.get(url).header("a", "b\nc"),
                Request.get(url).header("a", "b\0"),
                Request.get(url).header("a", "€"),
                Request.post(url, Body.of("12345")).header("Content-Length", "4"),
                Request.post(url, Body.of("12345")).header("Content-Length", "+5"),
                Request.post(url, Body.of("12345")).header("Transfer-Encoding", "chunked"),
                Request.post(url, Body.ofPublisher(Publishers.of("a"))).header("Content-Length", "1"),
                Request.post(url, Body.ofPublisher(Publishers.of("a")))
                        .header("Content-Length", "1")
                        .header("Transfer-Encoding", "chunked"),
                Request.get(url).header("Host", "a").header("Host", "b"),
                Request.post(url, Body.ofFile(java.nio.file.Path.of("no such file"))),
                Request.post(url, Body.ofFile(java.nio.file.Path.of("."))));
    }

    @ParameterizedTest(name = "request {index}")
    @MethodSource("badRequests")
    void refusedBeforeAByteIsSent(Request.Builder request) {
        try (OnewriteClient client = OnewriteClient.create()) {
            OnewriteException why = refused(client, request);
            assertEquals(ErrorKind.INVALID_REQUEST, why.kind(), why.getMessage());
            assertTrue(why.phase().isEmpty());
            assertEquals(0, client.stats().opened());
        }
    }

    /** A response to HEAD, and a 304, announce a body that does not come: the next bytes are the next response. */
    @Test
    void aResponseWithoutTheBodyItAnnounces() throws Exception {
        try (TestServer server = new TestServer(connection -> {
                    connection.read();
                    connection.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
                    connection.read();
                    connection.send("HTTP/1.1 304 Not Modified\r\nTransfer-Encoding: chunked\r\n\r\n");
                    connection.answerAll(TestServer.OK);
                });
                OnewriteClient client = OnewriteClient.create()) {
            assertEquals(
                    200, client.execute(Request.method("HEAD", server.url())).status());
            assertEquals(304, client.execute(Request.get(server.url())).status());
            assertEquals("ok", client.execute(Request.get(server.url())).text());
            assertEquals(1, server.connections());
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "http://user:secret@example.org/",
                "http://user:sec/secret@example.org/",
                "http://example.org:99999/?sig=secret",
                "http://example.org/a b?sig=secret",
                "ftp://user:secret@example.org/",
            })
    void aMessageShowsNoCredentials(String url) {
        List<String> shown = new CopyOnWriteArrayList<>();
        try (OnewriteClient client = OnewriteClient.builder()
                .onTiming(timing -> shown.add(timing.toString()))
                .build()) {
            shown.add(refused(client, Request.get(url)).getMessage());
        }
        assertEquals(2, shown.size());
        assertFalse(shown.toString().contains("secret"), shown.toString());
    }

    @Test
    void whatIsUnusualButRightPasses() throws Exception {
        try (TestServer server = TestServer.answering();
                OnewriteClient client = OnewriteClient.create()) {
            String port = ":" + server.port();
            Request.Builder request = Request.post("http://LOCALHOST" + port + "?q=1#fragment", Body.of("12345"))
                    .header("Content-Length", "5")
                    .header("X-Tab", "a\tb")
                    .header("X-Latin", "\u00e4");
            assertEquals(200, client.execute(request).status());
            TestServer.Received received = server.requests().get(0);
            assertTrue(
                    received.head().startsWith("POST /?q=1 HTTP/1.1\r\nhost: localhost" + port + "\r\n"),
                    received.head());
            assertEquals("\u00e4", received.header("x-latin"));
        }
    }

    /** @param inPieces each byte in a segment of its own */
    private static void send(TestServer.Connection connection, String response, boolean inPieces) throws Exception {
        for (String piece : inPieces ? response.split("") : new String[] {response}) {
            connection.send(piece);
        }
    }

    private static Arguments answer(String what, String bytes) {
        return Arguments.of(what, bytes);
    }

    /** Framing that two parsers could read differently. */
    static List<Arguments> badFraming() {
        String head = "HTTP/1.1 200 OK\r\n";
        String chunked = head + "Transfer-Encoding: chunked\r\n\r\n";
        String coded = "\r\n\r\n2\r\nok\r\n0\r\n\r\n";
        return List.of(
                answer("length and chunked", head + "Content-Length: 2\r\nTransfer-Encoding: chunked" + coded),
                answer("chunked and length", head + "Transfer-Encoding: chunked\r\nContent-Length: 2" + coded),
                answer("two lengths that differ", head + "Content-Length: 2\r\nContent-Length: 3\r\n\r\nok"),
                answer("two lengths in one field", head + "Content-Length: 2, 3\r\n\r\nok"),
                answer("a length of letters", head + "Content-Length: 2x\r\n\r\nok"),
                answer("a length with a plus", head + "Content-Length: +2\r\n\r\nok"),
                answer("a negative length", head + "Content-Length: -2\r\n\r\nok"),
                answer("an empty length", head + "Content-Length: \r\n\r\nok"),
                answer("a length that overflows", head + "Content-Length: 99999999999999999999\r\n\r\nok"),
                answer("an unknown coding", head + "Transfer-Encoding: xchunked" + coded),
                answer("chunked twice", head + "Transfer-Encoding: chunked, chunked" + coded),
                answer(
                        "chunked twice, in two fields",
                        head + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked" + coded),
                answer("chunked, not last", head + "Transfer-Encoding: chunked, identity" + coded),
                answer("a coding not asked for", head + "Transfer-Encoding: gzip, chunked" + coded),
                answer("chunked before HTTP/1.1", "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked" + coded),
                answer("bare line feeds", "HTTP/1.1 200 OK\nContent-Length: 2\n\nok"),
                answer("a chunk size of letters", chunked + "xx\r\nok\r\n0\r\n\r\n"),
                answer("a negative chunk size", chunked + "-2\r\nok\r\n0\r\n\r\n"),
                answer("a chunk size that overflows", chunked + "10000000000000002\r\nok\r\n0\r\n\r\n"),
                answer("a chunk size in C", chunked + "0x2\r\nok\r\n0\r\n\r\n"),
                answer("no chunk size", chunked + "\r\nok\r\n0\r\n\r\n"),
                answer("a chunk size and something else", chunked + "2 x\r\nok\r\n0\r\n\r\n"),
                answer("a second chunk size and something else", chunked + "2\r\nok\r\n2\tx\r\nok\r\n0\r\n\r\n"),
                answer("a last chunk size and something else", chunked + "2\r\nok\r\n0 0\r\n\r\n"),
                answer("a chunk size with a plus", chunked + "+2\r\nok\r\n0\r\n\r\n"),
                answer("a chunk size behind a space", chunked + " 2\r\nok\r\n0\r\n\r\n"),
                answer("a chunk size with an underscore", chunked + "0_2\r\nok\r\n0\r\n\r\n"),
                answer("a chunk size of 2^32 + 2", chunked + "100000002\r\nok\r\n0\r\n\r\n"),
                answer("a chunk longer than its size", chunked + "2\r\nokk\r\n0\r\n\r\n"),
                answer("a chunk that ends in a line feed", chunked + "2\r\nok\n0\r\n\r\n"),
                answer("a trailer without a colon", chunked + "2\r\nok\r\n0\r\ntwo words\r\n\r\n"));
    }

    static List<Arguments> badHeads() {
        String head = "HTTP/1.1 200 OK\r\n";
        String rest = "\r\nContent-Length: 0\r\n\r\n";
        return List.of(
                answer("a line without a colon", head + "nonsense" + rest),
                answer("a line without a colon but with a space", head + "two words" + rest),
                answer("a line without a colon, last", head + "Content-Length: 0\r\nnonsense\r\n\r\n"),
                answer("a space before the colon", head + "A : b" + rest),
                answer("a tab before the colon", head + "A\t: b" + rest),
                answer("a line without a name", head + ": b" + rest),
                answer("a first line that continues none", head + " a: b" + rest),
                answer("a NUL in a name", head + "a\0: b" + rest),
                answer(
                        "a line without a colon behind an interim response",
                        "HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n" + head + "two words" + rest),
                answer("another protocol", "SSH-2.0-OpenSSH_9.2\r\n\r\n"),
                answer("no status", "HTTP/1.1\r\n\r\n"),
                answer("a status with a plus", "HTTP/1.1 +200 OK" + rest),
                answer("a status of four digits", "HTTP/1.1 1000 OK" + rest),
                answer("a status with a leading zero", "HTTP/1.1 0200 OK" + rest),
                answer("a status below 100", "HTTP/1.1 020 OK" + rest),
                answer("a status of two digits", "HTTP/1.1 20 OK" + rest),
                answer("a negative status", "HTTP/1.1 -200 OK" + rest),
                answer("a status and a tab", "HTTP/1.1 200\tOK" + rest),
                answer("two spaces before the status", "HTTP/1.1  200 OK" + rest),
                answer("a tab before the status", "HTTP/1.1\t200 OK" + rest),
                answer("a space before the version", " HTTP/1.1 200 OK" + rest),
                answer("HTTP/2.0", "HTTP/2.0 200 OK" + rest),
                answer("HTTP/0.9", "HTTP/0.9 200 OK" + rest),
                answer("a version of two digits", "HTTP/1.10 200 OK" + rest),
                answer("a version without a point", "HTTP/11 200 OK" + rest),
                answer("a version in small letters", "http/1.1 200 OK" + rest),
                answer("a status of letters", "HTTP/1.1 OK 200\r\nContent-Length: 0\r\n\r\n"),
                answer(
                        "a switch of protocols nobody asked for",
                        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n"));
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource({"badFraming", "badHeads"})
    void aResponseThatIsRefused(String what, String response) throws Exception {
        for (boolean inPieces : new boolean[] {false, true}) {
            try (TestServer server = new TestServer(connection -> {
                        connection.read();
                        send(connection, response, inPieces);
                        connection.drain();
                    });
                    OnewriteClient client = OnewriteClient.create()) {
                OnewriteException why = refused(client, Request.get(server.url()));
                assertEquals(ErrorKind.PROTOCOL, why.kind(), why.getMessage());
                // Closed, not reused; the caller's error comes before the pool's counters change.
                Eventually.until(() -> client.stats().equals(new PoolStats(0, 0, 0, 0, 1)));
            }
        }
    }

    /** Unusual responses that can be read in one way only. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "HTTP/1.1 200 OK\r\nA: b\r\n c\r\nContent-Length: 2\r\n\r\nok",
                "HTTP/1.1 200 OK\r\nA:\r\nContent-Length:2\r\n\r\nok",
                "HTTP/1.1 200 OK\r\nA: b: c\r\nContent-Length: 0002\r\n\r\nok",
                "HTTP/1.1 200\r\ncontent-length:\t2 \r\n\r\nok",
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: CHUNKED\r\n\r\n02;a=b\r\nok\r\n0\r\nA: b\r\n\r\n",
                "\r\nHTTP/1.1 200 \r\nContent-Length: 2\r\n\r\nok",
                "HTTP/1.1 299 a  b\tc\r\nContent-Length: 2\r\n\r\nok",
                "HTTP/1.1 200 OK\r\nTRANSFER-ENCODING: chunked\r\n\r\n1 \r\no\r\n01\t;a=\"b c\"\r\nk\r\n0\r\n\r\n",
                "HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n"
                        + "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
            })
    void aResponseThatPasses(String response) throws Exception {
        for (boolean inPieces : new boolean[] {false, true}) {
            try (TestServer server = new TestServer(connection -> {
                        while (true) {
                            connection.read();
                            send(connection, response, inPieces);
                        }
                    });
                    OnewriteClient client = OnewriteClient.create()) {
                assertEquals("ok", client.execute(Request.get(server.url())).text());
                assertEquals("ok", client.execute(Request.get(server.url())).text());
                assertEquals(1, server.connections());
            }
        }
    }

    static List<Arguments> beyondTheLimits() {
        return List.of(
                Arguments.of("maxStatusLine", "HTTP/1.1 200 " + "x".repeat(500) + "\r\n\r\n"),
                Arguments.of("maxHeaderBytes", "HTTP/1.1 200 OK\r\nA: " + "x".repeat(5000) + "\r\n\r\n"),
                Arguments.of("maxHeaderBytes", "HTTP/1.1 200 OK\r\n" + ("A: " + "x".repeat(90) + "\r\n").repeat(30)),
                Arguments.of("maxHeaders", "HTTP/1.1 200 OK\r\n" + "A: b\r\n".repeat(30) + "Content-Length: 0\r\n\r\n"),
                Arguments.of("maxBody", "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n" + "x".repeat(1000)),
                Arguments.of(
                        "maxBody",
                        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                                + ("64\r\n" + "x".repeat(100) + "\r\n").repeat(10) + "0\r\n\r\n"));
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("beyondTheLimits")
    void aResponseBeyondALimitNamesTheLimit(String limit, String response) throws Exception {
        try (TestServer server = TestServer.answeringOnce(response);
                OnewriteClient client = OnewriteClient.builder()
                        .maxStatusLine(200)
                        .maxHeaderBytes(2000)
                        .maxHeaders(20)
                        .maxBody(500)
                        .build()) {
            OnewriteException why = refused(client, Request.get(server.url()));
            assertEquals(ErrorKind.PROTOCOL, why.kind(), why.getMessage());
            assertTrue(why.getMessage().contains(limit), why.getMessage());
            Eventually.until(() -> client.stats().equals(new PoolStats(0, 0, 0, 0, 1)));
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "HTTP/1.1 200 OK\r\nContent-Le",
                "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nok",
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nok",
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n"
            })
    void aResponseCutShortIsAnError(String response) throws Exception {
        try (TestServer server = new TestServer(connection -> {
                    connection.read();
                    connection.send(response);
                });
                OnewriteClient client = OnewriteClient.create()) {
            OnewriteException why = refused(client, Request.get(server.url()));
            assertTrue(
                    why.kind() == ErrorKind.CLOSED || why.kind() == ErrorKind.PROTOCOL,
                    () -> why.kind() + ": " + why.getMessage());
        }
    }

    @Test
    void aResponseWithoutLengthEndsWithTheConnection() throws Exception {
        try (TestServer server = new TestServer(connection -> {
                    connection.read();
                    connection.send("HTTP/1.1 200 OK\r\n\r\nuntil the end");
                });
                OnewriteClient client = OnewriteClient.create()) {
            assertEquals(
                    "until the end", client.execute(Request.get(server.url())).text());
        }
    }

    @Test
    void aResetIsNamed() throws Exception {
        try (TestServer server = new TestServer(connection -> {
                    connection.read();
                    connection.reset();
                });
                OnewriteClient client = OnewriteClient.create()) {
            assertEquals(
                    ErrorKind.RESET, refused(client, Request.get(server.url())).kind());
        }
    }

    /** The limit for the head is not extended by bytes that arrive slowly. */
    @Test
    void aSlowHeadHasADeadline() throws Exception {
        FakeTime time = new FakeTime();
        CountDownLatch trickled = new CountDownLatch(3);
        Semaphore more = new Semaphore(1);
        try (TestServer server = new TestServer(connection -> {
                    connection.read();
                    for (char each : TestServer.OK.toCharArray()) {
                        more.acquire();
                        connection.send(String.valueOf(each));
                        trickled.countDown();
                    }
                });
                OnewriteClient client = OnewriteClient.builder()
                        .time(time)
                        .responseTimeout(Duration.ofSeconds(10))
                        .idleReadTimeout(Duration.ofSeconds(60))
                        .build()) {
            CompletableFuture<Response> call =
                    client.send(Request.get(server.url()).build());
            for (int i = 0; i < 2; i++) {
                time.advance(Duration.ofSeconds(4));
                more.release();
            }
            Eventually.until(() -> trickled.getCount() == 0);
            assertFalse(call.isDone());
            Eventually.until(() -> {
                advance(time);
                return call.isDone();
            });
            OnewriteException why = Eventually.failure(call);
            assertEquals(ErrorKind.TIMEOUT, why.kind());
            assertEquals("wait", why.phase().orElseThrow().canonicalName());
            assertTrue(why.getMessage().contains("responseTimeout"), why.getMessage());
        }
    }

    private static void advance(FakeTime time) {
        try {
            time.advance(Duration.ofSeconds(1));
        } catch (Exception e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void aBodyThatStopsHasADeadline() throws Exception {
        FakeTime time = new FakeTime();
        try (TestServer server = TestServer.answeringOnce("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf");
                OnewriteClient client = OnewriteClient.builder()
                        .time(time)
                        .idleReadTimeout(Duration.ofSeconds(60))
                        .build()) {
            StreamedResponse response =
                    Eventually.of(client.stream(Request.get(server.url()).build()));
            CompletableFuture<byte[]> read = Publishers.collect(response.body());
            Eventually.until(() -> {
                advance(time);
                return read.isDone();
            });
            OnewriteException why = Eventually.failure(read);
            assertEquals(ErrorKind.TIMEOUT, why.kind());
            assertEquals("receive", why.phase().orElseThrow().canonicalName());
        }
    }

    @Test
    void aCallHasADeadlineOfItsOwn() throws Exception {
        FakeTime time = new FakeTime();
        try (TestServer server = new TestServer(TestServer.Connection::drain);
                OnewriteClient client = OnewriteClient.builder()
                        .time(time)
                        .callTimeout(Duration.ofSeconds(30))
                        .build()) {
            CompletableFuture<Response> patient =
                    client.send(Request.get(server.url()).build());
            CompletableFuture<Response> hasty = client.send(
                    Request.get(server.url()).timeout(Duration.ofSeconds(3)).build());
            Eventually.until(() -> client.stats().active() == 2);
            time.advance(Duration.ofSeconds(3));
            assertEquals(ErrorKind.TIMEOUT, Eventually.failure(hasty).kind());
            assertFalse(patient.isDone());
            time.advance(Duration.ofSeconds(27));
            OnewriteException why = Eventually.failure(patient);
            assertEquals(ErrorKind.TIMEOUT, why.kind());
            assertTrue(why.getMessage().contains("call timeout"), why.getMessage());
        }
    }

    /** A listener that never accepts: TCP connects, the TLS handshake does not end. */
    @Test
    void connectingHasADeadlineThatCoversTheHandshake() throws Exception {
        FakeTime time = new FakeTime();
        try (ServerSocket silent = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
                OnewriteClient client = OnewriteClient.builder()
                        .time(time)
                        .connectTimeout(Duration.ofSeconds(10))
                        .build()) {
            CompletableFuture<Response> call =
                    client.send(Request.get("https://127.0.0.1:" + silent.getLocalPort() + "/")
                            .build());
            try (Socket accepted = silent.accept()) {
                // The first bytes of the handshake have arrived: the TCP connect is over.
                assertEquals(22, accepted.getInputStream().read());
                time.advance(Duration.ofSeconds(10));
                OnewriteException why = Eventually.failure(call);
                assertEquals(ErrorKind.TIMEOUT, why.kind());
                assertEquals("tls", why.phase().orElseThrow().canonicalName());
            }
        }
    }
}
