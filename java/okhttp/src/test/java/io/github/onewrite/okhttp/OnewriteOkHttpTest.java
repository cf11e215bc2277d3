package io.github.onewrite.okhttp;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.github.onewrite.OnewriteConfig;
import io.github.onewrite.testing.AppliedTwice;
import io.github.onewrite.testing.Identity;
import io.github.onewrite.testing.Records;
import io.github.onewrite.testing.TestServer;
import io.github.onewrite.testing.Warnings;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.stream.Stream;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManager;
import javax.net.ssl.X509TrustManager;
import okhttp3.Call;
import okhttp3.Callback;
import okhttp3.EventListener;
import okhttp3.OkHttpClient;
import okhttp3.Request;
import okhttp3.RequestBody;
import okhttp3.Response;
import org.junit.jupiter.api.Test;

class OnewriteOkHttpTest implements AppliedTwice {
    private final Records records = new Records();

    private static int post(OkHttpClient client, String url) throws IOException {
        RequestBody body = RequestBody.create(new byte[200], null);
        try (Response response = client.newCall(
                        new Request.Builder().url(url).post(body).build())
                .execute()) {
            response.body().bytes();
            return response.code();
        }
    }

    /** The second time to a builder of the client that the first time was for. */
    @Override
    public Poster applied(int times, Records hook) {
        OnewriteOkHttp onewrite = hook.addTo(OnewriteOkHttp.create());
        OkHttpClient client = new OkHttpClient();
        for (int i = 0; i < times; i++) {
            client = onewrite.apply(client.newBuilder()).build();
        }
        OkHttpClient last = client;
        return url -> post(last, url);
    }

    @Test
    void theWaitForTheDispatcherIsTheQueue() throws Exception {
        assumeTrue(
                Stream.of(EventListener.class.getMethods())
                        .anyMatch(each -> each.getName().equals("dispatcherQueueEnd")),
                "OkHttp 4 does not report its queue");
        CountDownLatch go = new CountDownLatch(1);
        try (TestServer server = TestServer.answeringAfter(go, TestServer.OK)) {
            OkHttpClient client = records.addTo(OnewriteOkHttp.create())
                    .apply(new OkHttpClient.Builder())
                    .build();
            client.dispatcher().setMaxRequests(1);
            Request request = new Request.Builder().url(server.url()).build();
            Callback reading = new Callback() {
                @Override
                public void onResponse(Call call, Response response) throws IOException {
                    try (response) {
                        response.body().bytes();
                    }
                }

                @Override
                public void onFailure(Call call, IOException failure) {}
            };
            client.newCall(request).enqueue(reading);
            client.newCall(request).enqueue(reading);
            assertEquals(1, client.dispatcher().queuedCallsCount());
            go.countDown();
            assertEquals(Records.FRESH, Records.names(records.next()), "the control");
            List<String> names = new ArrayList<>(List.of("queue_start", "queue_end"));
            names.addAll(Records.REUSED);
            assertEquals(names, Records.names(records.next()));
        }
    }

    /** Nor where all is off. A hook that comes later reaches the clients made after it. */
    @Test
    void withoutAHookThereIsNoListener() {
        OkHttpClient stock = new OkHttpClient();
        OnewriteOkHttp onewrite = OnewriteOkHttp.create();
        OkHttpClient bare = onewrite.apply(stock.newBuilder()).build();
        assertSame(stock.eventListenerFactory(), bare.eventListenerFactory());
        onewrite.onTiming(records);
        OkHttpClient timed = onewrite.apply(bare.newBuilder()).build();
        assertSame(bare.socketFactory(), timed.socketFactory());
        assertTrue(timed.eventListenerFactory() instanceof CallListener.Factory);
        OkHttpClient off = onewrite.config(OnewriteConfig.defaults().withDisabled(true))
                .apply(stock.newBuilder())
                .build();
        assertSame(stock.eventListenerFactory(), off.eventListenerFactory());
        assertSame(stock.socketFactory(), off.socketFactory());
    }

    /** Another class loader's copy has classes of the same name. It warns once. */
    @Test
    void aSecondCopyStaysOff() throws Exception {
        ClassLoader own = OnewriteOkHttp.class.getClassLoader();
        ClassLoader other = new ClassLoader(own) {
            @Override
            protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
                if (!name.startsWith("io.github.onewrite.okhttp.") || findLoadedClass(name) != null) {
                    return super.loadClass(name, resolve);
                }
                try (var in = own.getResourceAsStream(name.replace('.', '/') + ".class")) {
                    byte[] bytes = in.readAllBytes();
                    return defineClass(name, bytes, 0, bytes.length);
                } catch (IOException e) {
                    throw new UncheckedIOException(e);
                }
            }
        };
        Class<?> type = other.loadClass(OnewriteOkHttp.class.getName());
        OkHttpClient first =
                OnewriteOkHttp.create().apply(new OkHttpClient.Builder()).build();
        OkHttpClient.Builder builder = first.newBuilder();
        try (Warnings warnings = new Warnings()) {
            for (int i = 0; i < 2; i++) {
                type.getMethod("apply", OkHttpClient.Builder.class)
                        .invoke(type.getMethod("create").invoke(null), builder);
            }
            assertEquals(1, warnings.texts().size(), warnings.texts()::toString);
        }
        assertSame(first.socketFactory(), builder.build().socketFactory());
    }

    /** As in OkHttp, two clients of one pool and one TLS factory share a connection. */
    @Test
    void clientsOfOnePoolShareTheirConnections() throws Exception {
        TrustManager[] trust = Identity.localhost().trust();
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(null, trust, null);
        OkHttpClient base = new OkHttpClient.Builder()
                .sslSocketFactory(context.getSocketFactory(), (X509TrustManager) trust[0])
                .build();
        try (TestServer server = TestServer.answering(Identity.listener())) {
            for (int i = 0; i < 3; i++) {
                OkHttpClient client =
                        OnewriteOkHttp.create().apply(base.newBuilder()).build();
                assertEquals(200, post(client, "https://localhost:" + server.port() + "/"));
            }
            assertEquals(1, server.connections());
        }
    }

    /** The request of a hook has no record: it would call the hook again. */
    @Test
    void aHookMayRequest() throws Exception {
        try (TestServer server = TestServer.answering()) {
            List<OkHttpClient> client = new ArrayList<>();
            client.add(records.addTo(OnewriteOkHttp.create())
                    .onTiming(timing -> {
                        try {
                            post(client.get(0), server.url());
                        } catch (IOException e) {
                            throw new UncheckedIOException(e);
                        }
                    })
                    .apply(new OkHttpClient.Builder())
                    .build());
            post(client.get(0), server.url());
            records.next();
            assertTrue(records.isEmpty());
            assertEquals(2, server.requests().size());
        }
    }
}
