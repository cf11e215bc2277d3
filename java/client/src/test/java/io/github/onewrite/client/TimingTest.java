package io.github.onewrite.client;

import static io.github.onewrite.client.PoolTest.get;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.onewrite.ErrorKind;
import io.github.onewrite.Outcome;
import io.github.onewrite.Phase;
import io.github.onewrite.Timing;
import io.github.onewrite.TimingEvent;
import io.github.onewrite.testing.Calls;
import io.github.onewrite.testing.Eventually;
import io.github.onewrite.testing.TestServer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Records and events of the client. */
class TimingTest {
    private final Calls calls = new Calls();

    private OnewriteClientBuilder timed() {
        return calls.heard(OnewriteClient.builder());
    }

    @Test
    void waitingForAConnectionIsTheQueuePhase() throws Exception {
        CountDownLatch go = new CountDownLatch(1);
        try (TestServer server = TestServer.answeringAfter(go, TestServer.OK);
                OnewriteClient client = timed().maxConnectionsPerOrigin(1).build()) {
            CompletableFuture<?> both = CompletableFuture.allOf(client.send(get(server)), client.send(get(server)));
            Eventually.until(() -> server.requests().size() == 1);
            Thread.sleep(50);
            go.countDown();
            Eventually.of(both);
            assertTrue(calls.next().queueNanos().isEmpty());
            Timing queued = calls.next();
            assertTrue(queued.queueNanos().orElseThrow() >= TimeUnit.MILLISECONDS.toNanos(50), queued::toString);
            List<String> names = new ArrayList<>(Calls.REUSED);
            names.addAll(2, List.of("queue_start", "queue_end"));
            assertEquals(names, calls.names());
        }
    }

    /** A call on a kept connection waits for no connect: the next one is not taken for its. */
    @Test
    void aLookupIsOfTheCallThatConnects() throws Exception {
        try (TestServer server = TestServer.closingAt(2);
                OnewriteClient client = timed().build()) {
            for (boolean connects : new boolean[] {true, false, true}) {
                PoolTest.failure(client.send(Request.get("http://localhost:" + server.port() + "/")));
                assertEquals(connects, calls.next().dnsNanos().isPresent());
            }
        }
    }

    /** The JDK resolves the proxy of a tunnel. What Netty throws then says nothing of a name. */
    @ParameterizedTest
    @ValueSource(strings = {"http", "https"})
    void aProxyWithoutAnAddress(String scheme) throws Exception {
        try (OnewriteClient client = timed().proxy(new Proxy("name.invalid", 1)).build()) {
            ends(client.send(Request.get(scheme + "://shop.test/")), ErrorKind.DNS, Phase.DNS);
        }
    }

    /** The caller saw a cancelled call, though the answer was read before the client took note. */
    @Test
    void aCallThatIsCancelledWithItsLastByteIsCancelled() throws Exception {
        CompletableFuture<CompletableFuture<Response>> made = new CompletableFuture<>();
        try (TestServer server = TestServer.answering();
                OnewriteClient client = timed().listener(event -> {
                            if (event.type() == TimingEvent.Type.CONNECTION_RELEASED) {
                                made.join().cancel(true);
                            }
                        })
                        .build()) {
            CompletableFuture<Response> call = client.send(get(server));
            made.complete(call);
            assertEquals(Outcome.CANCELLED, calls.next().outcome());
            assertTrue(call.isCancelled());
        }
    }

    /** Each failure ends its call once, in the phase that was under way. */
    @Test
    void failures() throws Exception {
        try (TestServer silent = TestServer.silent();
                OnewriteClient client = timed().maxConnectionsPerOrigin(1)
                        .queueTimeout(Duration.ofMillis(50))
                        .build()) {
            ends(
                    client.send(Request.get("http://127.0.0.1:" + TestServer.unusedPort() + "/")),
                    ErrorKind.CONNECT,
                    Phase.CONNECT);
            ends(client.send(Request.get("http://name.invalid/")), ErrorKind.DNS, Phase.DNS);
            ends(client.send(Request.get(silent.url()).timeout(Duration.ofMillis(500))), ErrorKind.TIMEOUT, Phase.WAIT);
            CompletableFuture<Response> first = client.send(get(silent));
            ends(client.send(get(silent)), ErrorKind.POOL, Phase.QUEUE);
            first.cancel(true);
            Timing cancelled = calls.next();
            assertEquals(Outcome.CANCELLED, cancelled.outcome());
            assertEquals(Phase.WAIT, cancelled.errorPhase().orElseThrow());
            ends(client.send(Request.get("no url")), ErrorKind.OTHER, null);
            assertTrue(calls.none());
        }
    }

    private void ends(CompletableFuture<?> call, ErrorKind kind, Phase phase) throws Exception {
        PoolTest.failure(call);
        Timing timing = calls.next();
        assertEquals(Outcome.ERROR, timing.outcome(), timing::toString);
        assertEquals(kind, timing.errorKind().orElseThrow(), timing::toString);
        assertEquals(phase, timing.errorPhase().orElse(null), timing::toString);
    }
}
