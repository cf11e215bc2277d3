import io.github.onewrite.reactornetty.OnewriteReactorNetty;
import java.nio.charset.StandardCharsets;
import org.springframework.core.io.buffer.DataBuffer;
import org.springframework.core.io.buffer.DefaultDataBufferFactory;
import org.springframework.http.client.reactive.ReactorClientHttpConnector;
import org.springframework.web.reactive.function.client.WebClient;
import reactor.core.publisher.Flux;
import reactor.netty.http.client.HttpClient;

/** POSTs a Flux with Spring's WebClient, in one write, and prints where the call's time went. */
public final class WebClientPost {
    private WebClientPost() {}

    public static void main(String[] args) {
        String url = System.getenv().getOrDefault("ONEWRITE_EXAMPLE_URL", "http://127.0.0.1:8080/");
        HttpClient client = OnewriteReactorNetty.create().onTiming(System.out::println).apply(HttpClient.create());
        WebClient web = WebClient.builder()
                .clientConnector(new ReactorClientHttpConnector(client))
                .build();
        Flux<DataBuffer> body = Flux.just("hel", "lo")
                .map(text -> DefaultDataBufferFactory.sharedInstance.wrap(text.getBytes(StandardCharsets.UTF_8)));
        String answer = web.post()
                .uri(url)
                .body(body, DataBuffer.class)
                .retrieve()
                .bodyToMono(String.class)
                .block();
        System.out.println(answer);
    }
}
