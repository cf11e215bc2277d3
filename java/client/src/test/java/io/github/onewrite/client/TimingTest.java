package io.github.onewrite.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.onewrite.Cause;
import io.github.onewrite.ErrorKind;
import io.github.onewrite.OnewriteConfig;
import io.github.onewrite.OnewriteException;
import io.github.onewrite.Outcome;
import io.github.onewrite.Phase;
import io.github.onewrite.Timing;
import io.github.onewrite.TimingEvent;
import io.github.onewrite.TimingListener;
import io.github.onewrite.netty.OnewriteNetty;
import io.github.onewrite.testing.Allocation;
import io.github.onewrite.testing.Calls;
import io.github.onewrite.testing.Eventually;
import io.github.onewrite.testing.SegmentServer;
import io.github.onewrite.testing.TestServer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordingFile;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

/** Records and events of the client, and their order. */
class TimingTest {
    private final Calls calls = new Calls();
    private final Recorder recorder = new Recorder();

    private static final class Recorder implements TimingListener {
        private final List<TimingEvent> events = new ArrayList<>();

        @Override
        public synchronized void onEvent(TimingEvent event) {
            events.add(event);
        }

        synchronized boolean has(String name) {
            return events.stream().anyMatch(event -> event.name().equals(name));
        }

        /** When the event of this name happened. */
        synchronized long at(String name) {
            return events.stream()
                    .filter(event -> event.name().equals(name))
                    .findFirst()
                    .orElseThrow()
                    .timeNanos();
        }

        /** Returns the names of the events so far and forgets them; asserts that their times never decrease. */
        synchronized String names() {
            long last = Long.MIN_VALUE;
            List<String> names = new ArrayList<>();
            for (TimingEvent event : events) {
                assertTrue(event.timeNanos() >= last, () -> event + " is earlier than the one before");
                last = event.timeNanos();
                names.add(event.name());
            }
            events.clear();
            return String.join(" ", names);
        }
    }

    private OnewriteClientBuilder timed() {
        return OnewriteClient.builder().onTiming(calls).listener(recorder);
    }

    @Test
    void aNewConnectionThenAReusedOne() throws Exception {
        try (TestServer server = TestServer.answering();
                OnewriteClient client = timed().build()) {
            String url = "http://localhost:" + server.port() + "/";
            client.execute(Request.post(url, Body.of("hello")).tag("mine").build());
            Timing first = calls.next();
            assertEquals(
                    "call_start attempt_start dns_start dns_end connect_start connect_end connection_acquired"
                            + " request_start request_end response_start headers_end response_end"
                            + " connection_released attempt_end call_end",
                    recorder.names());
            assertEquals("mine", first.tag().orElseThrow());
            assertEquals(false, first.reused().orElseThrow());
            assertTrue(first.dnsNanos().isPresent() && first.connectNanos().isPresent());
            assertTrue(first.queueNanos().isEmpty() && first.tlsNanos().isEmpty());
            assertEquals(1, first.lastAttempt().orElseThrow().writes().orElseThrow());
            assertEquals(2, first.lastAttempt().orElseThrow().bytesReceived().orElseThrow());
            assertTrue(first.lastAttempt().orElseThrow().idleNanos().isEmpty());

            client.execute(Request.post(url, Body.of("hello")).build());
            Timing second = calls.next();
            assertEquals(
                    "call_start attempt_start connection_acquired request_start request_end response_start"
                            + " headers_end response_end connection_released attempt_end call_end",
                    recorder.names());
            assertEquals(true, second.reused().orElseThrow());
            assertTrue(second.dnsNanos().isEmpty() && second.connectNanos().isEmpty());
            assertTrue(second.lastAttempt().orElseThrow().idleNanos().orElseThrow() > 0);
            assertEquals(2, second.lastAttempt().orElseThrow().connRequests().orElseThrow());
            assertEquals(first.connId(), second.connId());
        }
    }

    @Test
    void whatTheServerSaysOfItsTime() throws Exception {
        try (TestServer server = TestServer.answering(TestServer.TIMED);
                OnewriteClient client = timed().build()) {
            client.execute(Request.get(server.url()).build());
            Calls.assertServerTiming(calls.next());
        }
    }

    @Test
    void waitingForAConnectionIsTheQueuePhase() throws Exception {
        CountDownLatch go = new CountDownLatch(1);
        try (TestServer server = TestServer.answeringAfter(go, TestServer.OK);
                OnewriteClient client = timed().maxConnectionsPerOrigin(1).build()) {
            Request request = Request.get(server.url()).build();
            CompletableFuture<?> both = CompletableFuture.allOf(client.send(request), client.send(request));
            Eventually.until(() -> recorder.has("queue_start"));
            Thread.sleep(50);
            go.countDown();
            Eventually.of(both);
            assertTrue(calls.next().queueNanos().isEmpty());
            Timing queued = calls.next();
            assertTrue(queued.queueNanos().orElseThrow() >= TimeUnit.MILLISECONDS.toNanos(50), queued::toString);
            assertEquals(true, queued.reused().orElseThrow());
        }
    }

    @Test
    void interimResponsesDoNotEndTheWait() throws Exception {
        CountDownLatch heard = new CountDownLatch(1);
        try (TestServer server = new TestServer(connection -> {
                    connection.read();
                    connection.send("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n");
                    heard.await();
                    Thread.sleep(30);
                    connection.send(TestServer.OK);
                    connection.drain();
                });
                OnewriteClient client = timed().listener(new TimingListener() {
                            @Override
                            public void onInformational(TimingEvent.Informational event) {
                                heard.countDown();
                            }
                        })
                        .build()) {
            client.execute(Request.get(server.url()).build());
            long sent = recorder.at("request_end");
            long began = recorder.at("response_start");
            assertEquals(began - sent, calls.next().waitNanos().orElseThrow());
            assertTrue(began - recorder.at("informational") >= TimeUnit.MILLISECONDS.toNanos(30));
            assertTrue(recorder.names().contains("request_end informational response_start headers_end"));
        }
    }

    @Test
    void errorsAndCancelsEndTheCallOnce() throws Exception {
        FakeTime time = new FakeTime();
        try (TestServer server = TestServer.silent();
                OnewriteClient client = timed().time(time).build()) {
            CompletableFuture<Response> slow = client.send(
                    Request.get(server.url()).timeout(Duration.ofSeconds(1)).build());
            Eventually.until(() -> recorder.has("request_end"));
            time.advance(Duration.ofSeconds(1));
            assertEquals(ErrorKind.TIMEOUT, Eventually.failure(slow).kind());
            Timing late = calls.next();
            assertEquals(Outcome.ERROR, late.outcome());
            assertEquals(ErrorKind.TIMEOUT, late.errorKind().orElseThrow());
            assertEquals(Phase.WAIT, late.errorPhase().orElseThrow());
            assertTrue(late.sendNanos().isPresent() && late.waitNanos().isEmpty());
            assertTrue(recorder.names().endsWith("connection_released attempt_end call_end"));

            CompletableFuture<Response> call =
                    client.send(Request.get(server.url()).build());
            Eventually.until(() -> server.requests().size() == 2);
            call.cancel(true);
            Timing cancelled = calls.next();
            assertEquals(Outcome.CANCELLED, cancelled.outcome());
            assertTrue(recorder.names().endsWith("attempt_end call_end"));

            assertThrows(
                    OnewriteException.class,
                    () -> client.execute(Request.get("nonsense").build()));
            Timing refused = calls.next();
            assertEquals(ErrorKind.INVALID_REQUEST, refused.errorKind().orElseThrow());
            assertEquals(1, refused.attempts().size());
            assertEquals(Outcome.ERROR, refused.attempts().get(0).outcome());
            assertTrue(refused.totalNanos()
                    >= refused.attempts().get(0).totalNanos().orElseThrow());
            assertEquals("call_start attempt_start attempt_end call_end", recorder.names());
            assertTrue(calls.none(), "one record per call");
        }
    }

    @Test
    void aHookThatThrowsChangesNothing() throws Exception {
        try (TestServer server = TestServer.answering();
                OnewriteClient client = OnewriteClient.builder()
                        .onTiming(timing -> {
                            throw new IllegalStateException("from the test: a hook that throws");
                        })
                        .listener(new TimingListener() {
                            @Override
                            public void onCallStart(TimingEvent.CallStart event) {
                                throw new IllegalStateException("from the test: a hook that throws");
                            }
                        })
                        .build()) {
            assertEquals(200, client.execute(Request.get(server.url()).build()).status());
            assertEquals(2, client.hookFailures());
        }
    }

    @Test
    void theSwitchSilencesHooks() throws Exception {
        try (TestServer server = TestServer.answering();
                OnewriteClient client = timed().config(OnewriteConfig.defaults().withHooksDisabled(true))
                        .build()) {
            client.execute(Request.get(server.url()).build());
            assertEquals("", recorder.names());
            assertTrue(calls.none());
        }
    }

    /** What a call does for its timing when no hook is set. */
    @Test
    void whatIsOffAllocatesNothing() {
        int times = 100_000;
        OnewriteNetty off = OnewriteNetty.create();
        OnewriteNetty on = OnewriteNetty.create().onTiming(timing -> {});
        Request request = Request.get("http://127.0.0.1/").build();
        OnewriteNetty.Call[] last = new OnewriteNetty.Call[1];
        long without =
                Allocation.bytes(times, () -> last[0] = off.begin(request.method(), request.url(), request.tag()));
        assertTrue(without < times, without + " bytes for " + times + " calls");
        long with = Allocation.bytes(times, () -> last[0] = on.begin(request.method(), request.url(), request.tag()));
        assertNotSame(last[0], off.begin(request.method(), request.url(), request.tag()));
        assertTrue(with > 50L * times, "the meter does not see a timer: " + with + " bytes");
    }

    @Test
    @EnabledOnOs(OS.LINUX)
    void epollSeesWhatTheKernelKnows() throws Exception {
        try (TestServer server = new TestServer(connection -> {
                    while (true) {
                        connection.read();
                        Thread.sleep(150);
                        connection.send(TestServer.OK);
                    }
                });
                OnewriteClient client = timed().epoll().build()) {
            Request request =
                    Request.post(server.url(), Body.of("x".repeat(200))).build();
            int blamed = 0;
            int single = 0;
            for (int i = 0; i < 20; i++) {
                client.execute(request);
                Timing timing = calls.next();
                assertTrue(timing.kernel().orElseThrow().rttMicros().isPresent());
                // The server waited; the kernel held nothing back.
                blamed += timing.toString().contains("(server)") ? 1 : 0;
                single += timing.kernel().orElseThrow().segmentsOut().orElseThrow() == 1 ? 1 : 0;
            }
            // Most, not all: on a busy machine a thread may lose the processor between a write and its time stamp.
            assertTrue(blamed > 10, "blamed on the server: " + blamed + " of 20");
            assertTrue(single > 10, "in one segment: " + single + " of 20");
        }
    }

    /** The stall, made on purpose: Nagle's algorithm on, two writes, and a peer that delays its ACK. */
    @Test
    @EnabledOnOs(OS.LINUX)
    void aHeldBodyIsBlamedOnNagle() throws Exception {
        int blamed = 0;
        try (SegmentServer server = new SegmentServer();
                OnewriteClient client = timed().epoll()
                        .channelOption(io.netty.channel.ChannelOption.TCP_NODELAY, false)
                        .config(OnewriteConfig.defaults().withCoalesceDisabled(true))
                        .build()) {
            for (int i = 0; i < 20; i++) {
                client.execute(Request.post(server.url(), Body.ofPublisher(Publishers.of("a", "b".repeat(200)), 201))
                        .build());
                Timing timing = calls.next();
                if (timing.cause().equals(java.util.Optional.of(Cause.NAGLE_DELAYED_ACK))) {
                    blamed++;
                    assertTrue(timing.toString().contains("held"), timing::toString);
                }
            }
        }
        assertTrue(blamed >= 10, "blamed " + blamed + " of 20");
    }

    /** Two writes that pacing holds back with TCP_NODELAY on: the cause is not Nagle's algorithm. */
    @Test
    @EnabledOnOs(OS.LINUX)
    void whatPacingHoldsIsNotBlamedOnNagle() throws Exception {
        int held = 0;
        // setsockopt(2): SOL_SOCKET 1, SO_MAX_PACING_RATE 47, bytes per second.
        var pacing = new io.netty.channel.unix.IntegerUnixChannelOption("SO_MAX_PACING_RATE", 1, 47);
        try (SegmentServer server = new SegmentServer();
                OnewriteClient client =
                        timed().epoll().channelOption(pacing, 2_000_000).build()) {
            String half = "x".repeat(100_000);
            for (int i = 0; i < 8; i++) {
                client.execute(Request.post(server.url(), Body.ofPublisher(Publishers.of(half, half), 200_000))
                        .build());
                Timing timing = calls.next();
                assertNotEquals(java.util.Optional.of(Cause.NAGLE_DELAYED_ACK), timing.cause(), timing::toString);
                boolean late = timing.kernel().orElseThrow().sendHoldNanos().orElse(0) >= 20_000_000;
                held += late && timing.lastAttempt().orElseThrow().writes().orElse(0) > 1 ? 1 : 0;
            }
        }
        assertTrue(held > 0, "the kernel held nothing back, so this test has shown nothing");
    }

    @Test
    void flightRecorderEvents(@TempDir java.nio.file.Path dir) throws Exception {
        java.nio.file.Path file = dir.resolve("calls.jfr");
        try (TestServer server = TestServer.answering();
                OnewriteClient client = OnewriteClient.create();
                Recording recording = new Recording()) {
            recording.enable("io.github.onewrite.Call");
            recording.start();
            client.execute(Request.get(server.url()).build());
            recording.stop();
            recording.dump(file);
        }
        var calls = RecordingFile.readAllEvents(file).stream()
                .filter(event -> event.getEventType().getName().equals("io.github.onewrite.Call"))
                .toList();
        assertEquals(1, calls.size());
        assertEquals(200, calls.get(0).getInt("status"));
        assertFalse(calls.get(0).getDuration("await").isNegative());
    }
}
