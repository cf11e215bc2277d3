package io.github.onewrite.testing;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.onewrite.ErrorKind;
import io.github.onewrite.Outcome;
import io.github.onewrite.Timing;
import io.github.onewrite.TimingHook;
import io.github.onewrite.TimingOptions;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/** A hook that keeps the records which it gets, in order. */
public final class Records implements TimingHook {
    /** The events of a request over a new connection to an IP address, without TLS. */
    public static final List<String> FRESH = List.of(
            "connect_start",
            "connect_end",
            "connection_acquired",
            "request_start",
            "request_end",
            "response_start",
            "headers_end",
            "response_end",
            "connection_released");

    /** The events of a request over a reused connection. */
    public static final List<String> REUSED =
            FRESH.stream().filter(name -> !name.startsWith("connect_")).toList();

    private final BlockingQueue<Timing> timings = new LinkedBlockingQueue<>();

    @Override
    public void onTiming(Timing timing) {
        timings.add(timing);
    }

    /** Adds this hook to a customizer. */
    public <S extends TimingOptions<S>> S addTo(S customizer) {
        return customizer.onTiming(this);
    }

    /** Waits for the next record. */
    public Timing next() throws InterruptedException {
        Timing timing = timings.poll(30, TimeUnit.SECONDS);
        assertTrue(timing != null, "no record in 30 s");
        return timing;
    }

    /** Waits for the next record, which is that of a request that failed or was given up, and the last one. */
    public Timing failed(ErrorKind kind) throws InterruptedException {
        Timing timing = next();
        assertEquals(kind, timing.errorKind().orElse(null), timing::toString);
        assertEquals(kind == ErrorKind.CANCELLED ? Outcome.CANCELLED : Outcome.ERROR, timing.outcome());
        assertTrue(isEmpty(), "one request, one record");
        return timing;
    }

    /** Whether no record is left. */
    public boolean isEmpty() {
        return timings.isEmpty();
    }

    /** The names of a record's events, whose times do not decrease. */
    public static List<String> names(Timing timing) {
        List<Timing.Event> events = timing.events();
        for (int i = 1; i < events.size(); i++) {
            assertTrue(
                    events.get(i - 1).timeNanos() <= events.get(i).timeNanos(), () -> "time runs backwards: " + events);
        }
        return events.stream().map(Timing.Event::name).toList();
    }
}
