package io.github.onewrite.opentelemetry;

import io.github.onewrite.ahc.OnewriteAhc;
import io.github.onewrite.okhttp.OnewriteOkHttp;
import io.github.onewrite.reactornetty.OnewriteReactorNetty;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelPipeline;
import io.netty.handler.codec.http.HttpClientCodec;
import io.opentelemetry.instrumentation.netty.v4_1.NettyClientTelemetry;
import io.opentelemetry.instrumentation.okhttp.v3_0.OkHttpTelemetry;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;
import okhttp3.Call;
import okhttp3.ConnectionPool;
import okhttp3.OkHttpClient;
import okhttp3.RequestBody;
import okhttp3.Response;
import org.asynchttpclient.AsyncHttpClient;
import org.asynchttpclient.DefaultAsyncHttpClientConfig;
import org.asynchttpclient.Dsl;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.params.provider.Arguments;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.netty.http.client.HttpClient;
import reactor.netty.resources.ConnectionProvider;

/**
 * A client with onewrite, and with or without an instrumentation of OpenTelemetry's.
 *
 * @param post POSTs a small body, in pieces where the client can, and returns the status
 * @param end closes the client
 */
record Caller(Post post, AutoCloseable end) implements AutoCloseable {
    private interface Post {
        int to(String url) throws Exception;
    }

    int post(String url) throws Exception {
        return post.to(url);
    }

    @Override
    public void close() throws Exception {
        end.close();
    }

    interface Maker {
        Caller make(@Nullable Sdk spans, OnewriteOpenTelemetry onewrite);
    }

    /** The arguments of a test: a client's name, and its maker. */
    static Arguments named(String name, Maker maker) {
        return Arguments.of(name, maker);
    }

    /** The instrumentation wraps a finished client, so onewrite is always applied first. */
    static Caller okHttp(@Nullable Sdk spans, OnewriteOpenTelemetry onewrite) {
        ConnectionPool pool = new ConnectionPool();
        OkHttpClient client = OnewriteOkHttp.create()
                .listenerFactory(onewrite)
                .apply(new OkHttpClient.Builder().connectionPool(pool))
                .build();
        Call.Factory calls =
                spans == null ? client : OkHttpTelemetry.create(spans.api()).newCallFactory(client);
        return new Caller(url -> post(calls, url), () -> {
            pool.evictAll();
            client.dispatcher().executorService().shutdown();
        });
    }

    private static int post(Call.Factory calls, String url) throws IOException {
        okhttp3.Request request = new okhttp3.Request.Builder()
                .url(url)
                .post(RequestBody.create("hello".getBytes(StandardCharsets.US_ASCII), null))
                .build();
        try (Response response = calls.newCall(request).execute()) {
            response.body().bytes();
            return response.code();
        }
    }

    private static void trace(ChannelPipeline pipeline, Sdk spans) {
        ChannelHandler tracer = NettyClientTelemetry.create(spans.api()).createCombinedHandler();
        pipeline.addAfter(pipeline.context(HttpClientCodec.class).name(), "tracer", tracer);
    }

    /** The tracer's handler is added before onewrite is applied. */
    static Caller reactor(@Nullable Sdk spans, OnewriteOpenTelemetry onewrite) {
        return reactor(client -> OnewriteReactorNetty.create()
                .listenerFactory(onewrite)
                .apply(
                        spans == null
                                ? client
                                : client.doOnChannelInit(
                                        (observer, channel, remote) -> trace(channel.pipeline(), spans))));
    }

    /** The tracer's handler is added after onewrite is applied. */
    static Caller reactorReversed(Sdk spans, OnewriteOpenTelemetry onewrite) {
        return reactor(client -> OnewriteReactorNetty.create()
                .listenerFactory(onewrite)
                .apply(client)
                .doOnChannelInit((observer, channel, remote) -> trace(channel.pipeline(), spans)));
    }

    private static Caller reactor(UnaryOperator<HttpClient> with) {
        // With a second connection, a call that comes before the first is back in the pool would open it.
        ConnectionProvider pool = ConnectionProvider.create("opentelemetry-test", 1);
        HttpClient client = with.apply(HttpClient.create(pool).responseTimeout(Duration.ofSeconds(30)));
        return new Caller(
                url -> client.post()
                        .uri(url)
                        .send(Flux.just("hel", "lo")
                                .map(text -> Unpooled.copiedBuffer(text, StandardCharsets.US_ASCII)))
                        .responseSingle((response, content) -> content.asByteArray()
                                .then(Mono.just(response.status().code())))
                        .block(),
                () -> pool.disposeLater().block());
    }

    static Caller ahc(@Nullable Sdk spans, OnewriteOpenTelemetry onewrite) {
        DefaultAsyncHttpClientConfig.Builder config = Dsl.config().setShutdownQuietPeriod(Duration.ZERO);
        if (spans != null) {
            config.setHttpAdditionalChannelInitializer(channel -> trace(channel.pipeline(), spans));
        }
        AsyncHttpClient client = Dsl.asyncHttpClient(
                OnewriteAhc.create().listenerFactory(onewrite).apply(config));
        return new Caller(
                url -> client.preparePost(url)
                        .setBody("hello")
                        .execute()
                        .get(30, TimeUnit.SECONDS)
                        .getStatusCode(),
                client);
    }
}
