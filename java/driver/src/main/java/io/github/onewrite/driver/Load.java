package io.github.onewrite.driver;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicLong;

/** The load generator: each caller sends its next request when the last one is answered. */
final class Load {
    private final Client client;
    private final Call call;
    private final int callers;
    private final AtomicLong left;
    private final double seconds;
    private final int expected;
    private final JsonArray latencies = new JsonArray();
    private int errors;
    private String errorSample;

    Load(Client client, JsonObject message) {
        this.client = client;
        this.call = Call.bare(
                Json.string(message, "method", "POST"),
                message.get("url").getAsString(),
                Payload.parse(Json.has(message, "body") ? message.getAsJsonObject("body") : null));
        this.callers = Json.integer(message, "connections", 1);
        this.left = new AtomicLong(Json.integer(message, "count", Integer.MAX_VALUE));
        this.seconds = Json.number(message, "seconds", 3600);
        this.expected = Json.integer(message, "expect", 0);
    }

    JsonObject run(ExecutorService workers) throws InterruptedException, ExecutionException {
        long deadline = System.nanoTime() + (long) (seconds * 1e9);
        List<Callable<Void>> work = new ArrayList<>();
        for (int i = 0; i < callers; i++) {
            work.add(() -> {
                while (left.getAndDecrement() > 0 && System.nanoTime() < deadline) {
                    long sent = System.nanoTime();
                    record(client.send(call).join(), System.nanoTime() - sent);
                }
                return null;
            });
        }
        for (Future<Void> caller : workers.invokeAll(work)) {
            caller.get();
        }
        JsonObject json = new JsonObject();
        json.add("latencies_us", latencies);
        json.addProperty("errors", errors);
        json.addProperty("error_sample", errorSample);
        return json;
    }

    private synchronized void record(Reply reply, long nanos) {
        boolean right = reply.ok() && (expected > 0 ? reply.status == expected : reply.status / 100 == 2);
        if (right) {
            latencies.add(nanos / 1000);
        } else {
            errors++;
            errorSample = reply.ok() ? "status " + reply.status : reply.outcome + ": " + reply.error;
        }
    }
}
