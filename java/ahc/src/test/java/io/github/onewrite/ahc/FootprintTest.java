package io.github.onewrite.ahc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.onewrite.OnewriteConfig;
import io.github.onewrite.testing.Footprint;
import io.github.onewrite.testing.TestServer;
import java.lang.ref.WeakReference;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.asynchttpclient.AsyncCompletionHandlerBase;
import org.asynchttpclient.AsyncHttpClient;
import org.asynchttpclient.AsyncHttpClientConfig;
import org.asynchttpclient.DefaultAsyncHttpClientConfig;
import org.asynchttpclient.Dsl;
import org.asynchttpclient.Request;
import org.asynchttpclient.RequestBuilder;
import org.junit.jupiter.api.Test;

/** Pictures of a configuration, a pipeline, and of what is reachable after a call. spec/testdata/footprint/java.yaml. */
class FootprintTest {
    private static Set<String> differences(OnewriteAhc customizer) throws ReflectiveOperationException {
        DefaultAsyncHttpClientConfig.Builder builder = Dsl.config();
        List<Map<String, Object>> pictures = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            AsyncHttpClientConfig config = (i < 2 ? builder : customizer.apply(builder)).build();
            pictures.add(Footprint.picture(AsyncHttpClientConfig.class, config));
        }
        assertTrue(pictures.get(0).size() > 40, "the getters of a configuration");
        Set<String> changed = Footprint.differences(pictures.get(1), pictures.get(2));
        changed.removeAll(Footprint.differences(pictures.get(0), pictures.get(1)));
        return changed;
    }

    @Test
    void aConfigurationsPicture() throws Exception {
        Set<String> listed = Set.of("getHttpAdditionalChannelInitializer");
        assertEquals(listed, differences(OnewriteAhc.create()));
        assertEquals(listed, differences(OnewriteAhc.create().onTiming(timing -> {})));
        OnewriteConfig off = OnewriteConfig.defaults().withDisabled(true);
        assertEquals(Set.of(), differences(OnewriteAhc.create().config(off)));
    }

    /** The names of the handlers after a call, apart from the one that takes them. */
    private static List<String> pipeline(OnewriteAhc customizer) throws Exception {
        List<List<String>> names = new CopyOnWriteArrayList<>();
        DefaultAsyncHttpClientConfig.Builder builder = Dsl.config().setShutdownQuietPeriod(Duration.ZERO);
        if (customizer != null) {
            customizer.apply(builder);
        }
        var prepared = builder.build().getHttpAdditionalChannelInitializer();
        builder.setHttpAdditionalChannelInitializer(channel -> {
            if (prepared != null) {
                prepared.accept(channel);
            }
            channel.eventLoop().execute(() -> names.add(channel.pipeline().names()));
        });
        try (TestServer server = TestServer.answering();
                AsyncHttpClient client = Dsl.asyncHttpClient(builder)) {
            client.prepareGet(server.url()).execute().get(30, TimeUnit.SECONDS);
        }
        return names.get(0);
    }

    @Test
    void aPipelinesPicture() throws Exception {
        List<String> stock = pipeline(null);
        assertEquals(stock, pipeline(OnewriteAhc.create()), "nothing without a hook");
        List<String> timed = pipeline(OnewriteAhc.create().onTiming(timing -> {}));
        assertEquals(
                stock,
                timed.stream().filter(name -> !name.startsWith("onewrite.")).toList());
        assertTrue(timed.size() > stock.size(), "the handlers are seen");
    }

    private static Stream<WeakReference<?>> call(AsyncHttpClient client, String url) throws Exception {
        byte[] body = new byte[20_000];
        Request request = new RequestBuilder("POST")
                .setUrl(url)
                .setBody(body)
                .setHeader("Authorization", "secret")
                .build();
        AsyncCompletionHandlerBase handler = new AsyncCompletionHandlerBase();
        client.executeRequest(request, handler).get(30, TimeUnit.SECONDS);
        return Stream.of(body, request, handler).map(WeakReference::new);
    }

    /** The parts of the first of two calls on a connection, which is idle then, and which of them are reachable. */
    private static List<String> reachable(DefaultAsyncHttpClientConfig.Builder builder) throws Exception {
        try (TestServer server = TestServer.answering();
                AsyncHttpClient client = Dsl.asyncHttpClient(builder.setShutdownQuietPeriod(Duration.ZERO))) {
            List<WeakReference<?>> parts = call(client, server.url()).toList();
            call(client, server.url());
            assertEquals(1, client.getClientStats().getTotalIdleConnectionCount());
            return Footprint.reachable(parts);
        }
    }

    /** AsyncHttpClient 3.0.1 itself keeps the last request of a connection, and its handler. */
    @Test
    void nothingMoreOfACallIsReachable() throws Exception {
        List<WeakReference<?>> made = new CopyOnWriteArrayList<>();
        OnewriteAhc onewrite = OnewriteAhc.create()
                .onTiming(timing -> made.add(new WeakReference<>(timing)))
                .listenerFactory((method, url, tag) -> event -> made.add(new WeakReference<>(event)));
        assertEquals(reachable(Dsl.config()), reachable(onewrite.apply(Dsl.config())));
        assertTrue(made.size() > 2, "records and events");
        Footprint.assertUnreachable(made);
    }
}
