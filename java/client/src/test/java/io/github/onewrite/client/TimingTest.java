package io.github.onewrite.client;

import static io.github.onewrite.client.PoolTest.get;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.onewrite.ErrorKind;
import io.github.onewrite.OnewriteConfig;
import io.github.onewrite.Outcome;
import io.github.onewrite.Phase;
import io.github.onewrite.Timing;
import io.github.onewrite.testing.Calls;
import io.github.onewrite.testing.Eventually;
import io.github.onewrite.testing.TestServer;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;

/** Records and events of the client. */
class TimingTest {
    private final Calls calls = new Calls();

    private OnewriteClientBuilder timed() {
        return calls.heard(OnewriteClient.builder());
    }

    @Test
    void aNewConnectionThenAReusedOne() throws Exception {
        try (TestServer server = TestServer.answering();
                OnewriteClient client = timed().build()) {
            String url = "http://localhost:" + server.port() + "/";
            client.execute(Request.post(url, Body.of("hello")).tag("mine"));
            Timing first = calls.next();
            assertEquals(
                    "[call_start, attempt_start, dns_start, dns_end, connect_start, connect_end, connection_acquired,"
                            + " request_start, request_end, response_start, headers_end, response_end,"
                            + " connection_released, attempt_end, call_end]",
                    calls.names().toString());
            assertEquals("mine", first.tag().orElseThrow());
            assertTrue(first.queueNanos().isEmpty() && first.tlsNanos().isEmpty());
            assertEquals(1, first.lastAttempt().orElseThrow().writes().orElseThrow());

            client.execute(Request.post(url, Body.of("hello")));
            Timing second = calls.next();
            assertEquals(Calls.REUSED, calls.names());
            assertEquals(true, second.reused().orElseThrow());
            assertEquals(2, second.lastAttempt().orElseThrow().connRequests().orElseThrow());
            assertEquals(first.connId(), second.connId());
        }
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
            assertEquals(true, queued.reused().orElseThrow());
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

    @Test
    void aStreamThatIsGivenUpIsAnswered() throws Exception {
        try (TestServer server = TestServer.answeringOnce("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf");
                OnewriteClient client = timed().build()) {
            Eventually.of(client.stream(get(server))).close();
            Timing timing = calls.next();
            assertEquals(Outcome.OK, timing.outcome());
            assertTrue(timing.receiveNanos().isEmpty());
        }
    }

    @Test
    void aHookThatThrowsChangesNothing() throws Exception {
        try (TestServer server = TestServer.answering();
                OnewriteClient client = Calls.throwing(OnewriteClient.builder()).build()) {
            assertEquals("ok", client.execute(get(server)).text());
            assertEquals("ok", client.execute(get(server)).text());
            assertEquals(1, server.connections());
            assertTrue(client.status().hookErrors() > 0);
        }
    }

    /** Switched off, the client is bare Netty: no handlers, no records. */
    @Test
    void theKillSwitch() throws Exception {
        Consumer<Timing> none = timing -> {
            throw new AssertionError("timed");
        };
        try (TestServer server = TestServer.answering();
                OnewriteClient client = OnewriteClient.builder()
                        .config(OnewriteConfig.defaults().withDisabled(true))
                        .onTiming(none)
                        .build()) {
            assertEquals("ok", client.execute(get(server)).text());
            assertEquals(0, client.status().hookErrors());
        }
    }
}
