package io.github.onewrite.netty;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.onewrite.ErrorKind;
import io.github.onewrite.OnewriteException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What is refused on its way out, and on its way in. */
class BadInputTest {

    private static OnewriteException refused(OnewriteClient client, Request.Builder request) {
        return assertThrows(OnewriteException.class, () -> client.execute(request));
    }

    /** The request's URL is put after the server's. */
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

    @ParameterizedTest
    @ValueSource(
            strings = {
                "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
                "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok",
                "HTTP/1.1 200 OK\r\nContent-Length: 2x\r\n\r\nok",
                "HTTP/1.1 200 OK\r\nContent-Length: +2\r\n\r\nok",
                "HTTP/1.1 200 OK\r\nContent-Length: -2\r\n\r\nok",
                "HTTP/1.1 200 OK\nContent-Length: 2\n\nok",
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxx\r\nok\r\n0\r\n\r\n",
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-2\r\nok\r\n0\r\n\r\n",
                "SSH-2.0-OpenSSH_9.2\r\n\r\n",
                "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
            })
    void responsesThatAreRefused(String response) throws Exception {
        try (TestServer server = new TestServer(connection -> {
                    connection.read();
                    connection.send(response);
                    connection.drain();
                });
                OnewriteClient client = OnewriteClient.create()) {
            OnewriteException why = refused(client, Request.get(server.url()));
            assertEquals(ErrorKind.PROTOCOL, why.kind(), why.getMessage());
            assertEquals(0, client.stats().idle() + client.stats().active());
        }
    }

    @Test
    void responsesBeyondTheLimits() throws Exception {
        for (String response : List.of(
                "HTTP/1.1 200 " + "x".repeat(500) + "\r\n\r\n",
                "HTTP/1.1 200 OK\r\nA: " + "x".repeat(5000) + "\r\n\r\n",
                "HTTP/1.1 200 OK\r\n" + "A: b\r\n".repeat(30) + "Content-Length: 0\r\n\r\n",
                "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n" + "x".repeat(1000))) {
            try (TestServer server = new TestServer(connection -> {
                        connection.read();
                        connection.send(response);
                        connection.drain();
                    });
                    OnewriteClient client = OnewriteClient.builder()
                            .maxStatusLine(200)
                            .maxHeaderBytes(2000)
                            .maxHeaders(20)
                            .maxBody(500)
                            .build()) {
                OnewriteException why = refused(client, Request.get(server.url()));
                assertEquals(ErrorKind.PROTOCOL, why.kind(), why.getMessage());
                assertTrue(why.getMessage().contains("max"), why.getMessage());
            }
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "HTTP/1.1 200 OK\r\nContent-Le",
                "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nok",
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nok"
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
    void resetsAndSlowHeads() throws Exception {
        try (TestServer server = new TestServer(connection -> {
                    connection.read();
                    connection.reset();
                });
                OnewriteClient client = OnewriteClient.create()) {
            assertEquals(
                    ErrorKind.RESET, refused(client, Request.get(server.url())).kind());
        }
        try (TestServer server = new TestServer(connection -> {
                    connection.read();
                    for (char each : TestServer.OK.toCharArray()) {
                        connection.send(String.valueOf(each));
                        Thread.sleep(50);
                    }
                });
                OnewriteClient client = OnewriteClient.builder()
                        .responseTimeout(Duration.ofMillis(200))
                        .build()) {
            long started = System.nanoTime();
            OnewriteException why = refused(client, Request.get(server.url()));
            assertEquals(ErrorKind.TIMEOUT, why.kind());
            assertEquals("wait", why.phase().orElseThrow().canonicalName());
            assertTrue(System.nanoTime() - started < TimeUnit.SECONDS.toNanos(2));
        }
    }

    @Test
    void aResponseThatStopsTimesOut() throws Exception {
        try (TestServer server = new TestServer(connection -> {
                    connection.read();
                    connection.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf");
                    connection.drain();
                });
                OnewriteClient client = OnewriteClient.builder()
                        .idleReadTimeout(Duration.ofMillis(150))
                        .build()) {
            OnewriteException why = refused(client, Request.get(server.url()));
            assertEquals(ErrorKind.TIMEOUT, why.kind());
            assertEquals("receive", why.phase().orElseThrow().canonicalName());
        }
    }
}
