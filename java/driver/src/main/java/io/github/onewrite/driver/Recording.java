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
    private static final long LATE_MS = 200;

    private final boolean raising;
    private final List<TimingEvent> events = new ArrayList<>();
    private final CompletableFuture<Void> ended = new CompletableFuture<>();
    private Timing timing;
    private int timings;

    /** @param raising each hook throws after it recorded */
    Recording(boolean raising) {
        this.raising = raising;
    }

    @Override
    public synchronized void onEvent(TimingEvent event) {
        events.add(event);
        raise();
    }

    synchronized void onTiming(Timing finished) {
        timing = finished;
        timings++;
        ended.complete(null);
        raise();
    }

    private void raise() {
        if (raising) {
            throw new IllegalStateException("this hook raises, as it was told to");
        }
    }

    /** Waits for the record, or for as long as the protocol has patience with a call whose end is not reported. */
    CompletableFuture<Reply> joinTo(CompletableFuture<Reply> outcome) {
        return outcome.thenCompose(settled -> ended.completeOnTimeout(null, LATE_MS, TimeUnit.MILLISECONDS)
                .thenApply(end -> {
                    into(settled);
                    return settled;
                }));
    }

    private synchronized void into(Reply reply) {
        reply.timings = timings;
        if (timing != null && reply.errorKind != null) {
            // What the adapter made of the error is what is to be judged.
            reply.errorKind = timing.errorKind().map(ErrorKind::canonicalName).orElse(reply.errorKind);
            reply.errorPhase = timing.errorPhase().map(Phase::canonicalName).orElse(null);
        }
        reply.timing = timing == null ? null : TimingJson.of(timing);
        reply.events = new JsonArray();
        events.forEach(event -> reply.events.add(TimingJson.of(event)));
    }
}
