package io.github.onewrite.spi;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.onewrite.Cause;
import io.github.onewrite.ErrorKind;
import io.github.onewrite.Kernel;
import io.github.onewrite.OnewriteConfig;
import io.github.onewrite.Outcome;
import io.github.onewrite.Phase;
import io.github.onewrite.Timing;
import io.github.onewrite.TimingEvent;
import io.github.onewrite.TimingListener;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

class CallTimerTest {
    private final List<Timing> timings = new ArrayList<>();
    private final List<TimingEvent> events = new ArrayList<>();
    private final TimingListener listener = new TimingListener() {
        @Override
        public void onEvent(TimingEvent event) {
            events.add(event);
        }
    };

    private CallTimer start() {
        Hooks hooks =
                new Hooks(OnewriteConfig.defaults(), List.of(timings::add), List.of((method, url, tag) -> listener));
        return CallTimer.start(hooks, "POST", "http://127.0.0.1/", null);
    }

    private static PooledConnection connection(long id) {
        return new PooledConnection() {
            @Override
            public long id() {
                return id;
            }

            @Override
            public boolean whenClosed(Runnable task) {
                return false;
            }
        };
    }

    private String names() {
        return String.join(" ", events.stream().map(TimingEvent::name).toList());
    }

    @Test
    void nothingListensNothingIsTimed() {
        Hooks none = new Hooks(OnewriteConfig.defaults(), List.of(), List.of());
        assertNull(CallTimer.start(none, "GET", "http://127.0.0.1/", null));
        Hooks silenced = new Hooks(
                OnewriteConfig.defaults().withHooksDisabled(true),
                List.of(timings::add),
                List.of((method, url, tag) -> listener));
        assertNull(CallTimer.start(silenced, "GET", "http://127.0.0.1/", null));
    }

    @Test
    void whatFailedIsClosedBeforeTheAttemptEnds() {
        CallTimer timer = start();
        timer.attemptStart();
        timer.dnsStart("localhost");
        timer.dnsEnd(null);
        timer.connectStart();
        assertEquals(Phase.CONNECT, timer.phase());
        timer.callEnd(Outcome.ERROR, ErrorKind.CONNECT, Phase.CONNECT);
        assertEquals(
                "call_start attempt_start dns_start dns_end connect_start connect_end attempt_end call_end", names());
        assertEquals(new TimingEvent.ConnectEnd(events.get(5).timeNanos(), 0, "error"), events.get(5));
        assertTrue(timings.get(0).connectNanos().isPresent());
        assertTrue(timings.get(0).sendNanos().isEmpty());
    }

    @Test
    void lateCallsChangeNothing() {
        CallTimer timer = start();
        timer.attemptStart();
        timer.callEnd(Outcome.CANCELLED, ErrorKind.CANCELLED, null);
        timer.connectStart();
        timer.requestStart();
        timer.responseStart(System.nanoTime());
        timer.attemptStart();
        timer.callEnd(Outcome.OK, null, null);
        assertEquals("call_start attempt_start attempt_end call_end", names());
        assertEquals(1, timings.size());
    }

    /** A response that begins before the request's end: no wait phase, and no negative times. */
    @Test
    void anEarlyAnswer() {
        CallTimer timer = start();
        timer.attemptStart();
        timer.connectionAcquired(connection(1), false, -1, 1);
        timer.requestStart();
        timer.responseStart(0);
        timer.headersEnd(413, List.of());
        timer.requestEnd(10, 1);
        timer.responseEnd(0);
        timer.callEnd(Outcome.OK, null, null);
        assertEquals(
                "call_start attempt_start connection_acquired request_start response_start headers_end response_end"
                        + " attempt_end call_end",
                names());
        assertTrue(timings.get(0).waitNanos().isEmpty());
        assertTrue(timings.get(0).receiveNanos().isPresent());
    }

    @Test
    void attemptsStartAfresh() {
        CallTimer timer = start();
        timer.attemptStart();
        timer.dnsStart("a");
        timer.dnsEnd(null);
        timer.attemptEnd(Outcome.ERROR, new IllegalStateException("lost"));
        timer.attemptStart();
        timer.connectionAcquired(connection(2), true, 5, 2);
        timer.callEnd(Outcome.OK, null, null);
        assertEquals(2, timings.get(0).attempts().size());
        assertTrue(timings.get(0).dnsNanos().isEmpty(), "the shortcuts are the last attempt's");
        assertEquals(1, timings.get(0).lastAttempt().orElseThrow().index());
    }

    @Test
    void causes() {
        long ms = 1_000_000;
        assertNull(Cause.of(19 * ms, 0, 0, 0, true));
        assertEquals(Cause.SERVER, Cause.of(45 * ms, 2 * ms, 0, 0, true));
        assertEquals(Cause.NAGLE_DELAYED_ACK, Cause.of(42 * ms, 41 * ms, 0, 0, true));
        assertEquals(Cause.NAGLE_DELAYED_ACK, Cause.of(42 * ms, 41 * ms, 0, 20 * ms, true));
        assertNull(Cause.of(42 * ms, 41 * ms, 0, 0, false));
        assertEquals(Cause.PEER_WINDOW, Cause.of(60 * ms, 60 * ms, 1, 60 * ms, false));
        assertEquals(Cause.RETRANSMIT, Cause.of(215 * ms, 215 * ms, 1, 0, false));
    }

    @Test
    void oneLineForALog() {
        CallTimer timer = start();
        timer.attemptStart();
        timer.connectionAcquired(connection(3), true, 1, 7);
        timer.requestStart();
        timer.requestEnd(264, 2);
        timer.responseStart(System.nanoTime() + 41_700_000);
        timer.kernel(new Kernel(2, 30, 20, 0, 41_600_000), 0, () -> true);
        timer.headersEnd(200, List.of("cache;dur=1.5, total;dur=30"));
        timer.responseEnd(2);
        timer.callEnd(Outcome.OK, null, null);
        String line = timings.get(0).toString();
        assertTrue(
                line.matches(
                        "POST http://127.0.0.1/ 200 in [0-9.]+ ms: send [0-9.]+, "
                                + "wait [0-9.]+ \\(held 41.6: nagle_delayed_ack\\) = server 30.0 \\+ network [0-9.]+, receive [0-9.]+; reused conn 3"),
                line);
    }

    /** A hook that is slow on one thread holds no other thread, and no hook runs with the timer's lock. */
    @Test
    void stepsOfTwoThreadsAreDeliveredInOrderAndWithoutALock() throws Exception {
        CountDownLatch inHook = new CountDownLatch(1);
        CountDownLatch go = new CountDownLatch(1);
        List<String> heard = new CopyOnWriteArrayList<>();
        AtomicReference<CallTimer> timer = new AtomicReference<>();
        TimingListener slow = TimingListener.of(event -> {
            CallTimer known = timer.get();
            heard.add(event.name() + (known != null && Thread.holdsLock(known) ? " locked" : ""));
            if (event instanceof TimingEvent.ConnectStart) {
                inHook.countDown();
                try {
                    go.await();
                } catch (InterruptedException e) {
                    throw new IllegalStateException(e);
                }
            }
        });
        timer.set(CallTimer.start(
                new Hooks(OnewriteConfig.defaults(), List.of(timings::add), List.of((method, url, tag) -> slow)),
                "POST",
                "http://127.0.0.1/",
                null));
        timer.get().step(CallTimer::attemptStart);
        Thread first = new Thread(() -> timer.get().step(CallTimer::connectStart));
        first.start();
        inHook.await();
        timer.get().step(with -> with.connectEnd(null));
        timer.get().step(with -> with.callEnd(Outcome.OK, null, null));
        assertTrue(timings.isEmpty(), "the first thread delivers the rest");
        go.countDown();
        first.join();
        assertEquals(
                List.of("call_start", "attempt_start", "connect_start", "connect_end", "attempt_end", "call_end"),
                heard);
        assertEquals(1, timings.size());
    }

    /** Hooks that take further steps, as one that cancels its call does, find them told after their own event. */
    @Test
    void aStepTakenWithinAHookComesAfterIt() {
        AtomicReference<CallTimer> timer = new AtomicReference<>();
        List<String> heard = new ArrayList<>();
        TimingListener cancelling = TimingListener.of(event -> {
            if (event instanceof TimingEvent.ConnectStart) {
                timer.get().step(with -> with.callEnd(Outcome.CANCELLED, ErrorKind.CANCELLED, null));
            }
            heard.add(event.name());
        });
        timer.set(CallTimer.start(
                new Hooks(OnewriteConfig.defaults(), List.of(), List.of((method, url, tag) -> cancelling)),
                "POST",
                "http://127.0.0.1/",
                null));
        timer.get().step(CallTimer::attemptStart);
        timer.get().step(CallTimer::connectStart);
        assertEquals(
                List.of("call_start", "attempt_start", "connect_start", "connect_end", "attempt_end", "call_end"),
                heard);
    }

    @Test
    void anErrorWithoutAMessageIsNamedByItsClass() {
        CallTimer timer = start();
        timer.attemptStart();
        timer.connectStart();
        timer.connectEnd(new IllegalStateException());
        TimingEvent.ConnectEnd end = (TimingEvent.ConnectEnd) events.get(events.size() - 1);
        assertEquals("IllegalStateException", end.error());
    }
}
