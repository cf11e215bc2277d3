package io.github.onewrite.tracers;

import static com.github.tomakehurst.wiremock.client.WireMock.aResponse;
import static com.github.tomakehurst.wiremock.client.WireMock.equalTo;
import static com.github.tomakehurst.wiremock.client.WireMock.post;
import static com.github.tomakehurst.wiremock.client.WireMock.postRequestedFor;
import static com.github.tomakehurst.wiremock.client.WireMock.urlEqualTo;
import static com.github.tomakehurst.wiremock.core.WireMockConfiguration.options;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.github.tomakehurst.wiremock.WireMockServer;
import com.github.tomakehurst.wiremock.http.Fault;
import io.github.onewrite.Outcome;
import io.github.onewrite.Timing;
import io.github.onewrite.okhttp.OnewriteOkHttp;
import io.github.onewrite.reactornetty.OnewriteReactorNetty;
import io.github.onewrite.testing.Eventually;
import io.github.onewrite.tracers.Traced.Place;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import mockwebserver3.MockResponse;
import mockwebserver3.MockWebServer;
import mockwebserver3.RecordedRequest;
import okhttp3.Headers;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Mock servers receive and answer the same with onewrite and without. */
class MockServersTest {
    private final List<Timing> timings = new CopyOnWriteArrayList<>();

    interface Maker {
        Traced make(Place place, List<Timing> timings);
    }

    static Stream<Arguments> clients() {
        Maker okHttp = (place, to) ->
                OkHttpTracers.brave(place, OnewriteOkHttp.create().onTiming(to::add));
        Maker reactor = (place, to) ->
                ReactorTracers.metrics(place, OnewriteReactorNetty.create().onTiming(to::add));
        Maker rest = (place, to) ->
                ReactorTracers.restClient(place, OnewriteReactorNetty.create().onTiming(to::add));
        return Stream.of(
                Arguments.of("OkHttp", okHttp),
                Arguments.of("Reactor Netty", reactor),
                Arguments.of("RestClient", rest));
    }

    /** Waits for the records of the two calls with onewrite, which may come after the response. */
    private void awaitTimings() throws InterruptedException {
        Eventually.until(() -> timings.size() >= 2);
        assertEquals(2, timings.size());
    }

    /** The record of the response with this status: records of two calls may come in any order. */
    private Timing timing(int status) {
        return timings.stream()
                .filter(timing -> timing.status().orElse(0) == status)
                .findFirst()
                .orElseThrow();
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("clients")
    void mockWebServer(String name, Maker maker) throws Exception {
        for (Place place : List.of(Place.STOCK, Place.AFTER)) {
            try (MockWebServer server = new MockWebServer();
                    Traced client = maker.make(place, timings)) {
                server.enqueue(new MockResponse(503, Headers.of("Server-Timing", "db;dur=0.001"), "busy"));
                server.enqueue(new MockResponse(200, Headers.of(), "fine"));
                server.start();
                String url = server.url("/orders").toString();
                assertEquals("503 busy", client.post(url));
                assertEquals("200 fine", client.post(url));
                RecordedRequest request = server.takeRequest(30, TimeUnit.SECONDS);
                assertEquals("POST /orders HTTP/1.1", request.getRequestLine());
                assertEquals("hello", request.getBody().utf8());
            }
        }
        awaitTimings();
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("clients")
    void wireMock(String name, Maker maker) throws Exception {
        for (Place place : List.of(Place.STOCK, Place.AFTER)) {
            WireMockServer server = new WireMockServer(options().dynamicPort());
            server.stubFor(post("/orders")
                    .willReturn(aResponse().withStatus(201).withBody("made").withFixedDelay(50)));
            server.stubFor(post("/broken").willReturn(aResponse().withFault(Fault.CONNECTION_RESET_BY_PEER)));
            server.start();
            try (Traced client = maker.make(place, timings)) {
                assertEquals("201 made", client.post(server.baseUrl() + "/orders"));
                assertThrows(Exception.class, () -> client.post(server.baseUrl() + "/broken"));
                server.verify(1, postRequestedFor(urlEqualTo("/orders")).withRequestBody(equalTo("hello")));
            } finally {
                server.stop();
            }
        }
        awaitTimings();
        assertEquals(Outcome.OK, timing(201).outcome());
    }
}
