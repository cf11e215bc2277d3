package example;

import io.github.onewrite.Cause;
import io.github.onewrite.TimingHook;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.Timer;
import java.net.URI;
import java.time.Duration;
import java.util.stream.Stream;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.context.annotation.Bean;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.reactive.function.client.WebClient;
import reactor.core.publisher.Mono;

/** Sends a POST for each GET of /post?to=URL; /actuator/prometheus has what README's recipe records. */
@SpringBootApplication
@RestController
public class Application {
    private final WebClient client;

    Application(WebClient.Builder builder) {
        this.client = builder.build();
    }

    public static void main(String[] arguments) {
        SpringApplication.run(Application.class, arguments);
    }

    @GetMapping("/post")
    Mono<String> post(@RequestParam String to) {
        return client.post().uri(to).bodyValue("hello").retrieve().bodyToMono(String.class);
    }

    // docs/recipes-java.md names this method
    @Bean
    static TimingHook waits(MeterRegistry registry) {
        Duration[] edges = Stream.of(5, 10, 25, 35, 50, 75, 100, 250, 500, 1000, 5000)
                .map(Duration::ofMillis)
                .toArray(Duration[]::new);
        return timing -> {
            Tags server = Tags.of("server.address", String.valueOf(URI.create(timing.url()).getHost()));
            String cause = timing.cause().map(Cause::canonicalName).orElse("");
            timing.waitNanos().ifPresent(wait -> Timer.builder("onewrite.wait.duration")
                    .tags(server.and("onewrite.cause", cause))
                    .serviceLevelObjectives(edges)
                    .register(registry)
                    .record(Duration.ofNanos(wait)));
            timing.reused().ifPresent(reused -> Counter.builder("onewrite.requests")
                    .tags(server.and("onewrite.reused", reused.toString()))
                    .register(registry)
                    .increment());
        };
    }
}
