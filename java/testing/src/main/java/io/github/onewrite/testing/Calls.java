package io.github.onewrite.testing;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.onewrite.Outcome;
import io.github.onewrite.Timing;
import io.github.onewrite.TimingEvent;
import io.github.onewrite.TimingListener;
import io.github.onewrite.TimingOptions;
import java.lang.management.LockInfo;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadInfo;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import java.util.stream.Stream;

/** Records the timings and events of a client's calls; it is both the consumer and the listener factory. */
public final class Calls implements Consumer<Timing>, TimingListener.Factory {
    /** The events of a call over a new connection to an IP address, without TLS. */
    public static final List<String> FRESH = List.of(
            "call_start",
            "attempt_start",
            "connect_start",
            "connect_end",
            "connection_acquired",
            "request_start",
            "request_end",
            "response_start",
            "headers_end",
            "response_end",
            "connection_released",
            "attempt_end",
            "call_end");

    /** The events of a call over a reused connection. */
    public static final List<String> REUSED =
            FRESH.stream().filter(name -> !name.startsWith("connect_")).toList();

    private final BlockingQueue<Timing> timings = new LinkedBlockingQueue<>();
    private final AtomicReference<List<TimingEvent>> ended = new AtomicReference<>(List.of());

    @Override
    public void accept(Timing timing) {
        timings.add(timing);
    }

    @Override
    public TimingListener create(String method, String url, Object tag) {
        return new Recorder();
    }

    private final class Recorder implements TimingListener {
        private final List<TimingEvent> events = new CopyOnWriteArrayList<>();

        @Override
        public void onEvent(TimingEvent event) {
            events.add(event);
            if (event.type() == TimingEvent.Type.CALL_END) {
                ended.set(events);
            }
        }
    }

    /** Adds this as hook and listener factory. */
    public <S extends TimingOptions<S>> S heard(S customizer) {
        return customizer.onTiming(this).listenerFactory(this);
    }

    /** The locks of onewrite's classes that this thread holds: none may be held while user code runs. */
    public static List<String> locksHeld() {
        long[] self = {Thread.currentThread().getId()};
        ThreadInfo info = ManagementFactory.getThreadMXBean().getThreadInfo(self, true, true)[0];
        return Stream.concat(Arrays.stream(info.getLockedMonitors()), Arrays.stream(info.getLockedSynchronizers()))
                .map(LockInfo::getClassName)
                .filter(name -> name.startsWith("io.github.onewrite."))
                .toList();
    }

    /** Waits for the next timing. */
    public Timing next() throws InterruptedException {
        Timing timing = timings.poll(30, TimeUnit.SECONDS);
        assertTrue(timing != null, "no timing in 30 s");
        return timing;
    }

    /** Whether no timing is left. */
    public boolean none() {
        return timings.isEmpty();
    }

    /** The names of the events of the call that ended last. */
    public List<String> names() {
        List<TimingEvent> events = ended.get();
        for (int i = 1; i < events.size(); i++) {
            assertTrue(events.get(i - 1).timeNanos() <= events.get(i).timeNanos(), "time runs backwards");
        }
        return events.stream().map(TimingEvent::name).toList();
    }

    /** Asserts that the last call, of which this is the record, failed and ended once. */
    public void assertFailed(Timing timing) {
        assertEquals(Outcome.ERROR, timing.outcome());
        List<String> names = names();
        assertEquals(1, names.stream().filter("call_end"::equals).count());
        assertEquals("call_end", names.get(names.size() - 1));
        long released = names.stream().filter("connection_released"::equals).count();
        assertTrue(released <= timing.attempts().size(), names::toString);
    }

    /** Asserts that the TLS handshake of the last call came right after its connect, and its request in one write. */
    public void assertFreshOverTls(Timing timing) {
        assertTrue(timing.tlsNanos().isPresent() && timing.connectNanos().isPresent(), timing::toString);
        assertEquals(1, timing.attempts().size());
        assertEquals(1, timing.attempts().get(0).writes().orElseThrow());
        List<String> names = names();
        int connected = names.indexOf("connect_end");
        assertEquals(
                List.of("tls_start", "tls_end", "connection_acquired", "request_start"),
                names.subList(connected + 1, connected + 5));
    }
}
