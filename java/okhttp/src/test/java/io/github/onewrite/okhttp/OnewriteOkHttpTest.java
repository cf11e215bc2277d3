package io.github.onewrite.okhttp;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.github.onewrite.OnewriteConfig;
import io.github.onewrite.TimingEvent;
import io.github.onewrite.testing.AppliedTwice;
import io.github.onewrite.testing.Calls;
import io.github.onewrite.testing.Eventually;
import io.github.onewrite.testing.Identity;
import io.github.onewrite.testing.TestServer;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
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
    private final Calls calls = new Calls();

    private static int send(OkHttpClient client, String method, String url, int size) throws IOException {
        RequestBody body = size < 0 ? null : RequestBody.create(new byte[size], null);
        Request request = new Request.Builder().url(url).method(method, body).build();
        try (Response response = client.newCall(request).execute()) {
            response.body().bytes();
            return response.code();
        }
    }

    /** The second time to a builder of the client that the first time was for. */
    @Override
    public Poster applied(int times, Calls heard) {
        OnewriteOkHttp onewrite = heard.heard(OnewriteOkHttp.create());
        OkHttpClient client = new OkHttpClient();
        for (int i = 0; i < times; i++) {
            client = onewrite.apply(client.newBuilder()).build();
        }
        OkHttpClient last = client;
        return url -> send(last, "POST", url, 200);
    }

    @Test
    void theWaitForTheDispatcherIsTheQueue() throws Exception {
        assumeTrue(
                Stream.of(EventListener.class.getMethods())
                        .anyMatch(each -> each.getName().equals("dispatcherQueueEnd")),
                "OkHttp 4 does not report its queue");
        CountDownLatch go = new CountDownLatch(1);
        try (TestServer server = TestServer.answeringAfter(go, TestServer.OK)) {
            OkHttpClient client = calls.heard(OnewriteOkHttp.create())
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
            assertTrue(calls.next().queueNanos().isEmpty(), "the control");
            assertTrue(calls.next().queueNanos().isPresent());
            List<String> names = new ArrayList<>(Calls.REUSED);
            names.addAll(2, List.of("queue_start", "queue_end"));
            assertEquals(names, calls.names());
        }
    }

    /** Without hooks no listener is created per call: one serves all. */
    @Test
    void whatIsOffIsNotMadePerCall() {
        for (OnewriteOkHttp onewrite : List.of(
                OnewriteOkHttp.create(),
                OnewriteOkHttp.create()
                        .onTiming(calls)
                        .config(OnewriteConfig.defaults().withHooksDisabled(true)))) {
            OkHttpClient untimed = onewrite.apply(new OkHttpClient.Builder()).build();
            Call call = untimed.newCall(
                    new Request.Builder().url("http://127.0.0.1/").build());
            EventListener.Factory factory = untimed.eventListenerFactory();
            assertSame(factory.create(call), factory.create(call));
        }
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
                assertEquals(200, send(client, "POST", "https://localhost:" + server.port() + "/", 10));
            }
            assertEquals(1, server.connections());
        }
    }

    /** A listener that blocks holds no other call, and none is called while onewrite holds a lock. */
    @Test
    void noListenerIsCalledUnderALock() throws Exception {
        CountDownLatch blocked = new CountDownLatch(1);
        CountDownLatch go = new CountDownLatch(1);
        List<String> held = new CopyOnWriteArrayList<>();
        try (TestServer server = TestServer.answering()) {
            OkHttpClient client = OnewriteOkHttp.create()
                    .onTiming(timing -> held.addAll(Calls.locksHeld()))
                    .listenerFactory((method, url, tag) -> event -> {
                        held.addAll(Calls.locksHeld());
                        if (url.endsWith("/slow") && event.type() == TimingEvent.Type.CONNECTION_ACQUIRED) {
                            blocked.countDown();
                            await(go);
                        }
                    })
                    .apply(new OkHttpClient.Builder())
                    .build();
            CompletableFuture<Integer> slow = CompletableFuture.supplyAsync(() -> {
                try {
                    return send(client, "POST", server.url() + "slow", 200);
                } catch (IOException e) {
                    throw new UncheckedIOException(e);
                }
            });
            assertTrue(blocked.await(30, TimeUnit.SECONDS));
            assertEquals(200, send(client, "POST", server.url(), 200));
            assertFalse(slow.isDone());
            go.countDown();
            assertEquals(200, Eventually.of(slow));
        }
        assertEquals(List.of(), held);
    }

    private static void await(CountDownLatch latch) {
        try {
            assertTrue(latch.await(30, TimeUnit.SECONDS));
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}
