package io.github.onewrite.internal;

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
}
