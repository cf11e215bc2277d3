package io.github.onewrite.tracers;

import brave.Tracing;
import brave.handler.MutableSpan;
import brave.handler.SpanHandler;
import brave.http.HttpTracing;
import brave.okhttp3.TracingInterceptor;
import brave.propagation.TraceContext;
import io.github.onewrite.okhttp.OnewriteOkHttp;
import io.github.onewrite.tracers.Traced.Place;
import io.micrometer.core.instrument.binder.okhttp3.OkHttpMetricsEventListener;
import io.micrometer.core.instrument.binder.okhttp3.OkHttpObservationInterceptor;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.micrometer.observation.ObservationRegistry;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Consumer;
import okhttp3.Call;
import okhttp3.ConnectionPool;
import okhttp3.MediaType;
import okhttp3.OkHttpClient;
import okhttp3.Protocol;
import okhttp3.Request;
import okhttp3.RequestBody;
import okhttp3.Response;
import okhttp3.ResponseBody;

/** OkHttp with a tracer, a meter or a mock. */
final class OkHttpTracers {
    private OkHttpTracers() {}

    private static Traced client(
            Place place,
            OnewriteOkHttp onewrite,
            Consumer<OkHttpClient.Builder> tracer,
            Callable<List<String>> recorded) {
        ConnectionPool pool = new ConnectionPool();
        OkHttpClient.Builder builder = new OkHttpClient.Builder().connectionPool(pool);
        if (place == Place.BEFORE) {
            onewrite.apply(builder);
        }
        tracer.accept(builder);
        if (place == Place.AFTER) {
            onewrite.apply(builder);
        }
        OkHttpClient client = builder.build();
        return new Traced(url -> send(client, url), recorded, () -> {
            pool.evictAll();
            client.dispatcher().executorService().shutdown();
        });
    }

    private static String send(Call.Factory calls, String url) throws IOException {
        Request request = new Request.Builder()
                .url(url)
                .post(RequestBody.create("hello".getBytes(StandardCharsets.US_ASCII), null))
                .build();
        try (Response response = calls.newCall(request).execute()) {
            return response.code() + " " + response.body().string();
        }
    }

    /** Micrometer's event listener. A client has one listener: the last one that is set. */
    static Traced micrometerListener(Place place, OnewriteOkHttp onewrite) {
        SimpleMeterRegistry registry = new SimpleMeterRegistry();
        return client(
                place,
                onewrite,
                builder -> builder.eventListener(OkHttpMetricsEventListener.builder(registry, "calls")
                        .uriMapper(request -> "uri")
                        .build()),
                () -> Meters.of(registry, "calls"));
    }

    static Traced micrometerInterceptor(Place place, OnewriteOkHttp onewrite) {
        SimpleMeterRegistry registry = new SimpleMeterRegistry();
        ObservationRegistry observations = Meters.observed(registry);
        return client(
                place,
                onewrite,
                builder -> builder.addInterceptor(OkHttpObservationInterceptor.builder(observations, "calls")
                        .uriMapper(request -> "uri")
                        .build()),
                () -> Meters.of(registry, "calls"));
    }

    static Traced brave(Place place, OnewriteOkHttp onewrite) {
        List<String> spans = new CopyOnWriteArrayList<>();
        Tracing tracing = Tracing.newBuilder()
                .addSpanHandler(new SpanHandler() {
                    @Override
                    public boolean end(TraceContext context, MutableSpan span, Cause cause) {
                        spans.add(span.name() + " " + span.kind() + " " + span.tag("http.status_code") + " "
                                + (span.error() == null
                                        ? ""
                                        : span.error().getClass().getSimpleName()));
                        return true;
                    }
                })
                .build();
        return client(
                place,
                onewrite,
                builder -> builder.addNetworkInterceptor(TracingInterceptor.create(HttpTracing.create(tracing))),
                () -> List.copyOf(spans));
    }

    /** A mock: an interceptor that answers without a connection. */
    static Traced mock(Place place, OnewriteOkHttp onewrite) {
        List<String> asked = new CopyOnWriteArrayList<>();
        return client(
                place,
                onewrite,
                builder -> builder.addInterceptor(chain -> {
                    asked.add(chain.request().method());
                    return new Response.Builder()
                            .request(chain.request())
                            .protocol(Protocol.HTTP_1_1)
                            .code(200)
                            .message("OK")
                            .body(ResponseBody.create("mocked", MediaType.get("text/plain")))
                            .build();
                }),
                () -> List.copyOf(asked));
    }
}
