package io.github.onewrite.tracers;

import io.github.onewrite.TimingOptions;
import io.github.onewrite.okhttp.OnewriteOkHttp;
import io.github.onewrite.opentelemetry.OnewriteOpenTelemetry;
import io.github.onewrite.reactornetty.OnewriteReactorNetty;
import io.netty.buffer.Unpooled;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.Callable;
import okhttp3.OkHttpClient;
import okhttp3.RequestBody;
import reactor.core.publisher.Flux;
import reactor.netty.http.client.HttpClient;

/**
 * A program that runs under OpenTelemetry's agent: sends POSTs with one client, and prints the results. Arguments: the
 * client; stock, off (onewrite without hooks) or on; the number of POSTs for each URL; URLs.
 */
public final class AgentProgram {
    private AgentProgram() {}

    public static void main(String[] args) throws Exception {
        int times = Integer.parseInt(args[2]);
        for (int i = 3; i < args.length; i++) {
            String url = args[i];
            Callable<String> post = args[0].equals("okhttp") ? okHttp(args[1], url) : reactor(args[1], url);
            for (int call = 0; call < times; call++) {
                try {
                    System.out.println("result " + post.call());
                } catch (Exception e) {
                    System.out.println("result " + e.getClass().getName());
                }
            }
        }
        // A span may end shortly after its call; the agent exports at the program's end what has ended.
        Thread.sleep(1000);
        System.exit(0);
    }

    private static <O extends TimingOptions<O>> O hooked(O onewrite, String mode) {
        return mode.equals("on") ? onewrite.onTiming(OnewriteOpenTelemetry.create()) : onewrite;
    }

    private static Callable<String> okHttp(String mode, String url) {
        OkHttpClient.Builder builder = new OkHttpClient.Builder();
        if (!mode.equals("stock")) {
            hooked(OnewriteOkHttp.create(), mode).apply(builder);
        }
        OkHttpClient client = builder.build();
        okhttp3.Request request = new okhttp3.Request.Builder()
                .url(url)
                .post(RequestBody.create("hello".getBytes(StandardCharsets.US_ASCII), null))
                .build();
        return () -> {
            try (okhttp3.Response response = client.newCall(request).execute()) {
                return response.code() + " " + response.body().string();
            }
        };
    }

    private static Callable<String> reactor(String mode, String url) {
        HttpClient stock = HttpClient.create().responseTimeout(Duration.ofSeconds(30));
        HttpClient client = mode.equals("stock")
                ? stock
                : hooked(OnewriteReactorNetty.create(), mode).apply(stock);
        return () -> client.post()
                .uri(url)
                .send(Flux.just("hel", "lo").map(text -> Unpooled.copiedBuffer(text, StandardCharsets.US_ASCII)))
                .responseSingle((response, content) ->
                        content.asString().map(text -> response.status().code() + " " + text))
                .block();
    }
}
