package io.github.onewrite.driver;

import com.google.gson.Gson;
import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import io.github.onewrite.Timing;
import io.github.onewrite.TimingHook;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** The records that the hook of one client gets, while a request or a batch is under way. */
final class Recording implements TimingHook {
    private static final long PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(1);
    private static final Gson GSON = new Gson();

    private final boolean raises;
    private final List<Timing> records = new ArrayList<>();
    private boolean keeps;

    /** @param raises the hook throws after it recorded */
    Recording(boolean raises) {
        this.raises = raises;
    }

    @Override
    public synchronized void onTiming(Timing timing) {
        if (keeps) {
            records.add(timing);
            notifyAll();
        }
        if (raises) {
            throw new IllegalStateException("this hook raises");
        }
    }

    /** Forgets what came before, and keeps what comes. */
    synchronized void begin() {
        records.clear();
        keeps = true;
    }

    /** Waits for the last record of each of these calls, but no longer than the protocol says, and returns all. */
    synchronized JsonArray end(List<Reply> replies) throws InterruptedException {
        long deadline = System.nanoTime() + PATIENCE_NANOS;
        long left = PATIENCE_NANOS;
        while (left > 0 && !isComplete(replies)) {
            TimeUnit.NANOSECONDS.timedWait(this, left);
            left = deadline - System.nanoTime();
        }
        keeps = false;
        if (replies.size() == 1 && !records.isEmpty()) {
            replies.get(0).judgedBy(records.get(records.size() - 1));
        }
        JsonArray all = new JsonArray();
        records.forEach(record -> all.add(json(record)));
        records.clear();
        return all;
    }

    /** A call that is sent again has a record before its last one. */
    private boolean isComplete(List<Reply> replies) {
        if (replies.size() > 1 || records.isEmpty()) {
            return records.size() >= replies.size();
        }
        return replies.get(0).isTold(records.get(records.size() - 1));
    }

    private static JsonObject json(Timing timing) {
        JsonObject json = GSON.toJsonTree(timing.toMap()).getAsJsonObject();
        JsonArray events = new JsonArray();
        for (Timing.Event event : timing.events()) {
            JsonArray pair = new JsonArray();
            pair.add(event.name());
            pair.add(event.timeNanos());
            events.add(pair);
        }
        json.add("events", events);
        return json;
    }
}
