package io.github.onewrite.tracers;

import io.github.onewrite.reactornetty.OnewriteReactorNetty;
import io.github.onewrite.tracers.Traced.Place;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Metrics;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.netty.buffer.Unpooled;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.function.UnaryOperator;
import org.springframework.http.client.ReactorClientHttpRequestFactory;
import org.springframework.http.client.reactive.ReactorClientHttpConnector;
import org.springframework.web.client.RestClient;
import org.springframework.web.reactive.function.BodyInserters;
import org.springframework.web.reactive.function.client.WebClient;
import reactor.core.publisher.Flux;
import reactor.netty.http.client.HttpClient;
import reactor.netty.resources.ConnectionProvider;

/** Reactor Netty, and Spring's clients over it, with a tracer or a meter. */
final class ReactorTracers {
    private ReactorTracers() {}

    private static ConnectionProvider pool() {
        return ConnectionProvider.create("tracers", 2);
    }

    private static HttpClient client(
            Place place, OnewriteReactorNetty onewrite, ConnectionProvider pool, UnaryOperator<HttpClient> tracer) {
        HttpClient stock = HttpClient.create(pool).responseTimeout(Duration.ofSeconds(30));
        return switch (place) {
            case STOCK -> tracer.apply(stock);
            case AFTER -> onewrite.apply(tracer.apply(stock));
            case BEFORE -> tracer.apply(onewrite.apply(stock));
        };
    }

    /** metrics(true) records in Micrometer's global registry. */
    static Traced metrics(Place place, OnewriteReactorNetty onewrite) {
        SimpleMeterRegistry registry = new SimpleMeterRegistry();
        Metrics.addRegistry(registry);
        ConnectionProvider pool = pool();
        HttpClient client = client(place, onewrite, pool, stock -> stock.metrics(true, uri -> "uri"));
        return new Traced(
                url -> client.post()
                        .uri(url)
                        .send(Flux.just("hel", "lo")
                                .map(text -> Unpooled.copiedBuffer(text, StandardCharsets.US_ASCII)))
                        .responseSingle((response, content) ->
                                content.asString().map(text -> response.status().code() + " " + text))
                        .block(),
                () -> Meters.of(registry, "reactor.netty.http.client.response.time"),
                () -> {
                    pool.disposeLater().block();
                    Metrics.removeRegistry(registry);
                });
    }

    /** A client of Spring's whose observations become meters of this registry. */
    private static Traced observed(Traced.Post post, MeterRegistry registry, ConnectionProvider pool) {
        return new Traced(post, () -> Meters.of(registry, "http.client.requests"), () -> pool.disposeLater()
                .block());
    }

    static Traced webClient(Place place, OnewriteReactorNetty onewrite) {
        SimpleMeterRegistry registry = new SimpleMeterRegistry();
        ConnectionProvider pool = pool();
        WebClient client = WebClient.builder()
                .observationRegistry(Meters.observed(registry))
                .clientConnector(new ReactorClientHttpConnector(client(place, onewrite, pool, stock -> stock)))
                .build();
        return observed(
                url -> client.post()
                        .uri(url)
                        .body(BodyInserters.fromPublisher(Flux.just("hel", "lo"), String.class))
                        .exchangeToMono(response -> response.bodyToMono(String.class)
                                .map(text -> response.statusCode().value() + " " + text))
                        .block(),
                registry,
                pool);
    }

    static Traced restClient(Place place, OnewriteReactorNetty onewrite) {
        SimpleMeterRegistry registry = new SimpleMeterRegistry();
        ConnectionProvider pool = pool();
        RestClient client = RestClient.builder()
                .observationRegistry(Meters.observed(registry))
                .requestFactory(new ReactorClientHttpRequestFactory(client(place, onewrite, pool, stock -> stock)))
                .build();
        return observed(
                url -> client.post()
                        .uri(url)
                        .body("hello")
                        .exchange((request, response) -> response.getStatusCode()
                                        .value()
                                + " " + new String(response.getBody().readAllBytes(), StandardCharsets.US_ASCII)),
                registry,
                pool);
    }
}
