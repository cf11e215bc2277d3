package io.github.onewrite.driver;

import com.google.gson.JsonArray;
import io.github.onewrite.ErrorKind;
import io.github.onewrite.Phase;
import io.github.onewrite.Timing;
import io.github.onewrite.TimingEvent;
import io.github.onewrite.TimingListener;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/** What the hooks of one call reported. */
final class Recording implements TimingListener {
    private static final long LATE_MS = 1000;

    /** The recording of the call that has just ended on this thread. */
    private static final ThreadLocal<Recording> ENDED = new ThreadLocal<>();

    private final boolean raising;
    private final List<TimingEvent> events = new ArrayList<>();
    private final CompletableFuture<Void> ended = new CompletableFuture<>();
    private Timing timing;
    private int timings;

    /** @param raising each hook throws after it recorded */
    private Recording(boolean raising) {
        this.raising = raising;
    }

    /** A recording for one call of a client that was opened with these options, or null where it has no hooks. */
    static Recording of(Options options) {
        return options.withHooks() ? new Recording(options.hooks().equals("raising")) : null;
    }

    /** The record follows a call's last event, on the same thread. */
    static void onTimingOfEnded(Timing finished) {
        Recording ended = ENDED.get();
        ENDED.remove();
        if (ended != null) {
            ended.onTiming(finished);
        }
    }

    @Override
    public synchronized void onEvent(TimingEvent event) {
        events.add(event);
        if (event.type() == TimingEvent.Type.CALL_END) {
            ENDED.set(this);
        }
        raise();
    }

    synchronized void onTiming(Timing finished) {
        timing = finished;
        timings++;
        ended.complete(null);
        raise();
    }

    /** The call had no request: no record comes. */
    void hasNone() {
        ended.complete(null);
    }

    private void raise() {
        if (raising) {
            throw new IllegalStateException("this hook raises");
        }
    }

    /** Waits for the record, but no longer than the protocol waits for a call whose end is not reported. */
    CompletableFuture<Reply> joinTo(CompletableFuture<Reply> outcome) {
        return outcome.thenCompose(settled -> {
            settled.settledAtNanos = System.nanoTime();
            return ended.completeOnTimeout(null, LATE_MS, TimeUnit.MILLISECONDS).thenApply(end -> {
                into(settled);
                return settled;
            });
        });
    }

    private synchronized void into(Reply reply) {
        reply.timings = timings;
        if (timing != null && reply.errorKind != null) {
            // The judge tests the adapter's own view of the error.
            reply.errorKind = timing.errorKind().map(ErrorKind::canonicalName).orElse(reply.errorKind);
            reply.errorPhase = timing.errorPhase().map(Phase::canonicalName).orElse(null);
        }
        reply.timing = timing == null ? null : TimingJson.of(timing);
        reply.events = new JsonArray();
        events.forEach(event -> reply.events.add(TimingJson.of(event)));
    }
}
