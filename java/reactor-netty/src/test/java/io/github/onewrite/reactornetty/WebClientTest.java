package io.github.onewrite.reactornetty;

import static io.github.onewrite.testing.SegmentServer.REQUESTS;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.onewrite.Outcome;
import io.github.onewrite.Timing;
import io.github.onewrite.testing.LeakExtension;
import io.github.onewrite.testing.Records;
import io.github.onewrite.testing.SegmentServer;
import io.github.onewrite.testing.TestServer;
import io.netty.channel.ChannelOption;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.springframework.core.io.ByteArrayResource;
import org.springframework.core.io.buffer.DataBuffer;
import org.springframework.core.io.buffer.DefaultDataBufferFactory;
import org.springframework.http.MediaType;
import org.springframework.http.client.MultipartBodyBuilder;
import org.springframework.http.client.ReactorClientHttpRequestFactory;
import org.springframework.http.client.reactive.ReactorClientHttpConnector;
import org.springframework.util.LinkedMultiValueMap;
import org.springframework.util.MultiValueMap;
import org.springframework.web.client.RestClient;
import org.springframework.web.reactive.function.BodyInserters;
import org.springframework.web.reactive.function.client.WebClient;
import org.springframework.web.reactive.function.client.WebClient.RequestBodySpec;
import org.springframework.web.reactive.function.client.WebClient.RequestHeadersSpec;
import org.springframework.web.reactive.function.client.WebClientRequestException;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.netty.http.client.HttpClient;
import reactor.netty.resources.ConnectionProvider;

/** Spring's WebClient over a customized client. */
class WebClientTest {
    private final Records records = new Records();

    private final ConnectionProvider connections = ConnectionProvider.create("web-client-test", 10);

    @AfterEach
    void close() {
        connections.disposeLater().block(Duration.ofSeconds(30));
    }

    private HttpClient client() {
        return records.addTo(OnewriteReactorNetty.create()).apply(HttpClient.create(connections));
    }

    private static WebClient web(HttpClient client, String url) {
        return WebClient.builder()
                .baseUrl(url)
                .clientConnector(new ReactorClientHttpConnector(client))
                .build();
    }

    private static Flux<DataBuffer> buffers(String... texts) {
        return Flux.fromArray(texts)
                .map(text -> DefaultDataBufferFactory.sharedInstance.wrap(text.getBytes(StandardCharsets.UTF_8)));
    }

    private interface Body {
        RequestHeadersSpec<?> of(RequestBodySpec request);
    }

    static Stream<Arguments> bodies() {
        List<Arguments> all = new ArrayList<>();
        Map<String, Object> order = Map.of("tea", "green", "grams", 200);
        all.add(body("JSON value", 1, request -> request.bodyValue(order)));
        all.add(body("Flux of buffers", 2, request -> request.body(buffers("a", "b", "c"), DataBuffer.class)));
        all.add(body("Flux as a JSON array", 2, request -> request.contentType(MediaType.APPLICATION_JSON)
                .body(Flux.just(order, order, order), Map.class)));
        all.add(body("Flux as JSON lines", 2, request -> request.contentType(MediaType.APPLICATION_NDJSON)
                .body(Flux.just(order, order, order), Map.class)));
        all.add(body(
                "multipart of text parts",
                2,
                request -> request.body(
                        BodyInserters.fromMultipartData("tea", "green").with("grams", "200"))));
        return all.stream();
    }

    /** @param stock the least number of segments that the stock client needs */
    private static Arguments body(String name, int stock, Body body) {
        return Arguments.of(name, stock, body);
    }

    private static int segments(HttpClient client, Body body) throws Exception {
        try (SegmentServer server = new SegmentServer()) {
            WebClient web = web(client, server.url());
            for (int i = 0; i < REQUESTS; i++) {
                assertEquals(
                        "ok",
                        body.of(web.post().uri("/orders"))
                                .retrieve()
                                .bodyToMono(String.class)
                                .block(Duration.ofSeconds(30)));
            }
            assertEquals(REQUESTS, server.segments().size());
            return server.mode();
        }
    }

    /** Each POST is one segment, has TCP_NODELAY, and a record; the stock client needs more segments for a Flux. */
    @ParameterizedTest(name = "{0}")
    @MethodSource("bodies")
    @EnabledOnOs(OS.LINUX)
    void oneSegment(String name, int stock, Body body) throws Exception {
        assertTrue(segments(HttpClient.create(connections), body) >= stock, "the control");
        List<Boolean> nodelay = new CopyOnWriteArrayList<>();
        HttpClient client = client().doOnRequest((request, connection) ->
                nodelay.add(connection.channel().config().getOption(ChannelOption.TCP_NODELAY)));
        assertEquals(1, segments(client, body), name);
        assertEquals(REQUESTS, nodelay.stream().filter(Boolean.TRUE::equals).count());
        for (int i = 0; i < REQUESTS; i++) {
            Timing timing = records.next();
            assertEquals(Outcome.OK, timing.outcome());
            assertEquals("POST", timing.method());
            assertTrue(timing.url().endsWith("/orders"), timing.url());
            assertEquals(200, timing.status().orElseThrow());
            assertTrue(timing.waitNanos().isPresent());
        }
        assertTrue(records.isEmpty(), "one record per request");
    }

    private interface Post {
        RestClient.RequestBodySpec with(RestClient.RequestBodySpec request);
    }

    static Stream<Arguments> blockingBodies() {
        MultiValueMap<String, Object> parts = new LinkedMultiValueMap<>();
        parts.add("tea", "green");
        parts.add("file", new ByteArrayResource("0123456789a".getBytes(StandardCharsets.UTF_8)));
        return Stream.of(
                Arguments.of("text", (Post) request -> request.body("hello")),
                Arguments.of("a stream", (Post) request -> request.body(out -> out.write(new byte[300]))),
                Arguments.of("3000 bytes", (Post) request -> request.body(new byte[3000])),
                Arguments.of("multipart", (Post) request ->
                        request.contentType(MediaType.MULTIPART_FORM_DATA).body(parts)));
    }

    private interface Poster {
        String post(String url);
    }

    private static Poster restClient(HttpClient client, Post post) {
        RestClient rest = RestClient.builder()
                .requestFactory(new ReactorClientHttpRequestFactory(client))
                .build();
        return url -> post.with(rest.post().uri(url)).retrieve().body(String.class);
    }

    /** The mode of the segments of a POST. */
    private static int mode(Poster poster) throws Exception {
        try (SegmentServer server = new SegmentServer()) {
            for (int i = 0; i < REQUESTS; i++) {
                assertEquals("ok", poster.post(server.url()));
            }
            return server.mode();
        }
    }

    /** RestClient writes the body on another thread: what that publishes after the turn leaves in a second segment. */
    @ParameterizedTest(name = "{0}")
    @MethodSource("blockingBodies")
    @EnabledOnOs(OS.LINUX)
    void noMoreSegmentsOfRestClientThanStock(String name, Post post) throws Exception {
        assertNoMoreSegments(restClient(HttpClient.create(connections), post), restClient(client(), post));
    }

    /** A resource is also read on another thread. */
    @Test
    @EnabledOnOs(OS.LINUX)
    void noMoreSegmentsOfAMultipartResourceThanStock() throws Exception {
        assertNoMoreSegments(multipart(HttpClient.create(connections)), multipart(client()));
    }

    private static Poster multipart(HttpClient client) {
        ByteArrayResource file = new ByteArrayResource("0123456789".getBytes(StandardCharsets.UTF_8));
        return url -> web(client, url)
                .post()
                .body(BodyInserters.fromMultipartData("file", file))
                .retrieve()
                .bodyToMono(String.class)
                .block(Duration.ofSeconds(30));
    }

    private void assertNoMoreSegments(Poster stock, Poster ours) throws Exception {
        int control = mode(stock);
        int mode = mode(ours);
        assertTrue(mode <= control, mode + ", stock " + control);
        for (int i = 0; i < REQUESTS; i++) {
            assertEquals(Outcome.OK, records.next().outcome());
        }
    }

    @Test
    void aRedirectedPost() throws Exception {
        try (TestServer server = TestServer.answering(
                "POST /first", "HTTP/1.1 307 Temporary Redirect\r\nLocation: /second\r\nContent-Length: 0\r\n\r\n")) {
            WebClient web = web(client().followRedirect(true), server.url());
            web.post()
                    .uri("/first")
                    .bodyValue("hello")
                    .retrieve()
                    .toBodilessEntity()
                    .block(Duration.ofSeconds(30));
            for (int status : new int[] {307, 200}) {
                Timing timing = records.next();
                assertEquals(status, timing.status().orElseThrow());
                assertEquals(Outcome.OK, timing.outcome());
            }
            assertEquals("hello", new String(server.requests().get(1).body(), StandardCharsets.UTF_8));
        }
    }

    /** The pooled buffers of each request are released. */
    @Test
    void aRetriedMultipartMessageLeaksNothing() throws Exception {
        try (TestServer server = new TestServer(connection -> {
            if (connection.number() < 3) {
                connection.readHead();
            } else {
                connection.read();
                connection.send(TestServer.OK);
                connection.drain();
            }
        })) {
            MultipartBodyBuilder parts = new MultipartBodyBuilder();
            parts.part("tea", "green");
            parts.part("file", new ByteArrayResource(new byte[30_000]));
            parts.asyncPart(
                    "slow", Flux.range(0, 5).delayElements(Duration.ofMillis(3)).map(n -> "piece " + n), String.class);
            for (int i = 0; i < 10; i++) {
                Integer status = web(client(), server.url())
                        .post()
                        .body(BodyInserters.fromMultipartData(parts.build()))
                        .exchangeToMono(response -> response.releaseBody().thenReturn(200))
                        .retry(3)
                        .block(Duration.ofSeconds(30));
                assertEquals(200, status);
            }
        }
        assertEquals(List.of(), LeakExtension.leaks());
    }

    /** What came before the error is released; the call fails as without onewrite. */
    @Test
    void aBodyThatFailsLeaksNothing() throws Exception {
        try (TestServer server = TestServer.answering()) {
            Flux<DataBuffer> failing = Flux.concat(
                    buffers("a", "b"),
                    Mono.delay(Duration.ofMillis(5))
                            .flatMap(tick -> Mono.<DataBuffer>error(new IllegalStateException("example"))));
            for (HttpClient client : List.of(HttpClient.create(connections), client())) {
                for (int i = 0; i < 10; i++) {
                    Throwable thrown = assertThrows(Exception.class, () -> web(client, server.url())
                            .post()
                            .body(failing, DataBuffer.class)
                            .retrieve()
                            .toBodilessEntity()
                            .block(Duration.ofSeconds(30)));
                    assertEquals(WebClientRequestException.class, thrown.getClass());
                }
            }
        }
        assertEquals(List.of(), LeakExtension.leaks());
    }
}
