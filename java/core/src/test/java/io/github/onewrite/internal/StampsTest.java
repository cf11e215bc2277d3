package io.github.onewrite.internal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.onewrite.ErrorKind;
import io.github.onewrite.OnewriteConfig;
import io.github.onewrite.Outcome;
import io.github.onewrite.Phase;
import io.github.onewrite.Status;
import io.github.onewrite.Timing;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class StampsTest {
    private static final Moment[] BEGINNINGS = {
        Moment.QUEUE_START,
        Moment.DNS_START,
        Moment.CONNECT_START,
        Moment.TLS_START,
        Moment.REQUEST_START,
        Moment.REQUEST_END,
        Moment.RESPONSE_START
    };

    private final Setup setup = new Setup(() -> new Status.Base("none", null));
    private final List<Timing> delivered = new ArrayList<>();

    /** Stamped up to a moment, a millisecond apart. */
    private static Stamps until(Moment last) {
        Stamps stamps = new Stamps(1);
        for (Moment each : Moment.values()) {
            if (each.ordinal() <= last.ordinal()) {
                stamps.stamp(each, (each.ordinal() + 1) * 1_000_000L);
            }
        }
        return stamps;
    }

    /** Whatever ends a request, the phase under way is the one in which it ended, and lasts until then. */
    @ParameterizedTest
    @EnumSource(Phase.class)
    void aRequestFailsInThePhaseUnderWay(Phase phase) {
        Moment begun = BEGINNINGS[phase.ordinal()];
        Stamps stamps = until(begun);
        long end = stamps.at(begun) + 5_000_000;
        stamps.failed(ErrorKind.TIMEOUT, end);
        Timing timing = new Timing(stamps);
        assertEquals(Outcome.ERROR, timing.outcome());
        assertEquals(phase, timing.errorPhase().orElseThrow());
        assertEquals(OptionalLong.of(5_000_000), timing.nanos(phase));
        assertEquals(begun.canonicalName, timing.events().get(begun.ordinal()).name());
        assertEquals(begun.ordinal() + 1, timing.events().size());
    }

    @Test
    void betweenPhasesThereIsNone() {
        Stamps stamps = until(Moment.CONNECTION_ACQUIRED);
        stamps.failed(ErrorKind.CANCELLED, 20_000_000);
        Timing timing = new Timing(stamps);
        assertEquals(Outcome.CANCELLED, timing.outcome());
        assertTrue(timing.errorPhase().isEmpty());
    }

    /** A server may answer before it has read the request. */
    @Test
    void anEarlyAnswerHasNoWait() {
        Stamps stamps = until(Moment.REQUEST_START);
        stamps.stamp(Moment.RESPONSE_START, 12_000_000);
        stamps.stamp(Moment.RESPONSE_END, 13_000_000);
        stamps.stamp(Moment.REQUEST_END, 14_000_000);
        stamps.end(15_000_000);
        Timing timing = new Timing(stamps);
        assertTrue(timing.waitNanos().isEmpty());
        assertEquals(OptionalLong.of(4_000_000), timing.sendNanos());
        assertEquals(OptionalLong.of(1_000_000), timing.receiveNanos());
    }

    @Test
    void aBodyThatWasGivenUpIsNotReceived() {
        Stamps stamps = until(Moment.HEADERS_END);
        stamps.end(20_000_000);
        assertTrue(new Timing(stamps).receiveNanos().isEmpty());
        assertTrue(new Timing(stamps).errorPhase().isEmpty());
    }

    @Test
    void theWallClockIsReadOnce() {
        long before = System.currentTimeMillis();
        Stamps stamps = new Stamps(1);
        stamps.end(5_000_001);
        long started = stamps.startedAtUnixNanos();
        assertTrue(started >= (before - 5) * 1_000_000, () -> before + " " + started);
        assertEquals(started, stamps.startedAtUnixNanos());
    }

    @Test
    void aHookThatThrowsIsCountedAndTheOthersAreCalled() {
        StackOverflowError thrown = new StackOverflowError("on purpose");
        thrown.setStackTrace(new StackTraceElement[0]);
        setup.hooks().add(timing -> {
            throw thrown;
        });
        setup.hooks().add(delivered::add);
        setup.hooks().add(timing -> assertTrue(Hooks.running()));
        Stamps stamps = new Stamps(1);
        stamps.method = "GET";
        setup.hooks().deliver(stamps);
        setup.hooks().deliver(stamps);
        assertEquals("GET", delivered.get(0).method());
        assertEquals(2, delivered.size());
        assertFalse(Hooks.running());
        assertEquals(2, setup.status().hookErrors());
    }

    @Test
    void theStatusSaysWhatIsOffAndWhy() {
        assertFalse(setup.status().enabled());
        setup.applied();
        assertEquals("on", setup.status().patches().get("nodelay"));
        assertEquals("waits for a hook", setup.status().patches().get("timing"));
        assertFalse(setup.times());
        setup.hooks().add(delivered::add);
        assertTrue(setup.times());
        assertEquals("on", setup.status().patches().get("timing"));
        setup.withoutNodelay.incrementAndGet();
        setup.note("coalesce", "why not");
        assertEquals("why not", setup.status().patches().get("coalesce"));
        assertEquals(
                "on; connections without it so far: 1", setup.status().patches().get("nodelay"));
        setup.config(new OnewriteConfig(false, true, false));
        assertEquals("observe is set", setup.status().patches().get("nodelay"));
        setup.config(new OnewriteConfig(true, false, false));
        assertEquals("disabled is set", setup.status().patches().get("timing"));
        assertFalse(setup.times());
    }
}
