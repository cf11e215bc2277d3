package io.github.onewrite.okhttp;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.onewrite.OnewriteConfig;
import io.github.onewrite.Timing;
import io.github.onewrite.testing.Footprint;
import io.github.onewrite.testing.TestServer;
import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.UnaryOperator;
import okhttp3.Call;
import okhttp3.EventListener;
import okhttp3.OkHttpClient;
import okhttp3.Request;
import okhttp3.RequestBody;
import okhttp3.Response;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Pictures of a client, and of what is reachable after a call, compared with stock's. spec/testdata/footprint/java.yaml. */
class FootprintTest {
    private static final UnaryOperator<OkHttpClient.Builder> STOCK = builder -> builder;
    private static final UnaryOperator<OkHttpClient.Builder> BARE =
            builder -> OnewriteOkHttp.create().apply(builder);

    /** The getters whose value is another one than with stock, apart from those that differ between stock clients, too. */
    private static Set<String> differences(UnaryOperator<OkHttpClient.Builder> customizer) throws Exception {
        OkHttpClient stock = new OkHttpClient();
        Map<String, Object> before = Footprint.picture(OkHttpClient.class, stock);
        assertTrue(before.size() > 20, "the getters of a client");
        List<Set<String>> changed = new ArrayList<>();
        for (UnaryOperator<OkHttpClient.Builder> each : List.of(customizer, STOCK)) {
            OkHttpClient made = each.apply(stock.newBuilder()).build();
            changed.add(Footprint.differences(before, Footprint.picture(OkHttpClient.class, made)));
        }
        changed.get(0).removeAll(changed.get(1));
        // OkHttp makes a new database of routes for each other socket factory.
        changed.get(0).removeIf(name -> name.startsWith("-deprecated_") || name.startsWith("getRouteDatabase"));
        return changed.get(0);
    }

    @Test
    void aClientsPicture() throws Exception {
        OnewriteConfig switches = OnewriteConfig.defaults();
        UnaryOperator<OkHttpClient.Builder> timed =
                builder -> OnewriteOkHttp.create().onTiming(timing -> {}).apply(builder);
        assertEquals(Set.of("socketFactory"), differences(BARE));
        assertEquals(Set.of("eventListenerFactory", "socketFactory"), differences(timed));
        for (OnewriteConfig off : List.of(switches.withDisabled(true), switches.withObserve(true))) {
            assertEquals(
                    Set.of(),
                    differences(builder -> OnewriteOkHttp.create().config(off).apply(builder)));
        }
        assertEquals(
                Set.of("networkInterceptors", "socketFactory"),
                differences(builder -> BARE.apply(builder).addNetworkInterceptor(chain -> null)),
                "a mutant is seen");
    }

    /** Everything that a call has, held weakly. */
    private static List<WeakReference<?>> call(OkHttpClient client, String url, boolean fails) throws Exception {
        Object tag = new Object();
        RequestBody body = RequestBody.create(new byte[20_000], null);
        Request request = new Request.Builder()
                .url(url)
                .post(body)
                .tag(Object.class, tag)
                .header("Authorization", "secret")
                .build();
        Call call = client.newCall(request);
        if (fails) {
            assertThrows(IllegalStateException.class, call::execute);
        } else {
            call.execute().close();
        }
        return List.of(
                new WeakReference<>(tag),
                new WeakReference<>(body),
                new WeakReference<>(request),
                new WeakReference<>(call));
    }

    /** While the connection is idle, and on the thread of the call, which lives on. */
    @ParameterizedTest(name = "hooks {0}")
    @ValueSource(booleans = {true, false})
    void nothingOfACallIsReachable(boolean hooks) throws Exception {
        List<WeakReference<?>> parts = new CopyOnWriteArrayList<>();
        try (TestServer server = TestServer.answering()) {
            OnewriteOkHttp onewrite = OnewriteOkHttp.create();
            if (hooks) {
                onewrite.onTiming(timing -> parts.add(new WeakReference<>(timing)));
            }
            EventListener.Factory own = call -> {
                EventListener listener = new EventListener() {
                    private final Call of = call;

                    @Override
                    public String toString() {
                        return "of " + of;
                    }
                };
                parts.add(new WeakReference<>(listener));
                return listener;
            };
            OkHttpClient client = onewrite.apply(
                            new OkHttpClient.Builder().eventListenerFactory(own).addInterceptor(chain -> {
                                Response response = chain.proceed(chain.request());
                                if (chain.request().url().encodedPath().equals("/open")) {
                                    throw new IllegalStateException("with its response open");
                                }
                                return response;
                            }))
                    .build();
            // OkHttp closes the connection of a response that is never closed: another call has another one.
            parts.addAll(call(client, server.url() + "open", true));
            parts.addAll(call(client, server.url(), false));
            client.newCall(new Request.Builder().url(server.url()).build()); // never executed
            Footprint.assertUnreachable(parts);
            assertTrue(client.connectionPool().connectionCount() > 0, "idle, and reachable");
        }
    }

    /** A hook that keeps records is seen by the same picture. */
    @Test
    void aMutantThatKeepsRecordsIsSeen() throws Exception {
        List<Timing> kept = new ArrayList<>();
        List<WeakReference<?>> parts = new ArrayList<>();
        try (TestServer server = TestServer.answering()) {
            OkHttpClient client = OnewriteOkHttp.create()
                    .onTiming(timing -> {
                        kept.add(timing);
                        parts.add(new WeakReference<>(timing));
                    })
                    .apply(new OkHttpClient.Builder())
                    .build();
            Footprint.assertUnreachable(call(client, server.url(), false));
            assertTrue(parts.get(0).get() != null, "the record");
            assertEquals(1, kept.size());
        }
    }

    private static long bytesPerCall(OkHttpClient client, Request request) throws Exception {
        return Footprint.allocatedBytes(300, () -> {
            client.newCall(request).execute().close();
            return null;
        });
    }

    /**
     * On warm connections. Two stock clients differ by up to 32 bytes a call by chance: so another try is as good. A record
     * and its listener take some 400.
     */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void whatACallAllocates(boolean hook) throws Exception {
        long limit = hook ? 600 : 32;
        List<Long> more = new ArrayList<>();
        try (TestServer server = TestServer.answering()) {
            Request request = new Request.Builder().url(server.url()).build();
            while (more.size() < 6 && more.stream().noneMatch(bytes -> bytes <= limit)) {
                OnewriteOkHttp onewrite = OnewriteOkHttp.create();
                if (hook) {
                    onewrite.onTiming(timing -> {});
                }
                long stock = bytesPerCall(new OkHttpClient(), request);
                long own =
                        bytesPerCall(onewrite.apply(new OkHttpClient.Builder()).build(), request);
                more.add(Math.max(0, own - stock));
            }
        }
        assertTrue(more.stream().anyMatch(bytes -> bytes <= limit), more::toString);
    }
}
