package io.github.onewrite.driver;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

/** The load generator: callers in a closed loop, or requests that fall due at a fixed rate. */
final class Load {

    private record Sample(long latencyNanos, long serviceNanos, Long waitNanos, Long sendNanos) {}

    private final Client client;
    private final Call call;
    private final boolean open;
    private final int connections;
    private final long count;
    private final double seconds;
    private final int warmup;
    private final double rate;
    private final int expected;
    private final boolean withPhases;
    private final ConcurrentLinkedQueue<Sample> samples = new ConcurrentLinkedQueue<>();
    private final AtomicInteger errors = new AtomicInteger();
    private volatile String errorSample;

    Load(Client client, JsonObject message, boolean withPhases) {
        this.client = client;
        this.call = Call.bare(
                Json.string(message, "method", "POST"),
                message.get("url").getAsString(),
                Payload.parse(Json.has(message, "body") ? message.getAsJsonObject("body") : null));
        this.open = Json.string(message, "mode", "closed").equals("open");
        this.connections = Json.integer(message, "connections", 1);
        this.count = Json.integer(message, "count", -1);
        this.seconds = Json.number(message, "seconds", -1);
        this.warmup = Json.integer(message, "warmup", 0);
        this.rate = Json.number(message, "rate", 200);
        this.expected = Json.integer(message, "expect", 0);
        this.withPhases = withPhases;
    }

    JsonObject run() throws InterruptedException {
        if (warmup > 0) {
            closedLoop(warmup, -1);
            samples.clear();
            errors.set(0);
            errorSample = null;
        }
        long started = System.nanoTime();
        if (open) {
            openLoop();
        } else {
            closedLoop(count, seconds);
        }
        return report(started, System.nanoTime());
    }

    private void closedLoop(long requests, double forSeconds) throws InterruptedException {
        AtomicLong left = new AtomicLong(requests >= 0 ? requests : Long.MAX_VALUE);
        long deadline = System.nanoTime() + (long) (forSeconds * 1e9);
        List<Thread> callers = new ArrayList<>();
        for (int i = 0; i < connections; i++) {
            Thread caller = new Thread(
                    () -> {
                        while (left.getAndDecrement() > 0 && (forSeconds <= 0 || System.nanoTime() < deadline)) {
                            long sent = System.nanoTime();
                            record(client.send(call).join(), sent, sent);
                        }
                    },
                    "load-caller-" + i);
            caller.setDaemon(true);
            callers.add(caller);
            caller.start();
        }
        for (Thread caller : callers) {
            caller.join();
        }
    }

    private void openLoop() throws InterruptedException {
        long total = count >= 0 ? count : (long) (rate * seconds);
        CountDownLatch done = new CountDownLatch(Math.toIntExact(total));
        long first = System.nanoTime();
        for (long i = 0; i < total; i++) {
            long due = first + (long) (i * 1e9 / rate);
            for (long rest = due - System.nanoTime(); rest > 0; rest = due - System.nanoTime()) {
                LockSupport.parkNanos(rest);
            }
            long sent = System.nanoTime();
            client.send(call).thenAccept(reply -> {
                record(reply, due, sent);
                done.countDown();
            });
        }
        done.await();
    }

    private void record(Reply reply, long due, long sent) {
        long now = System.nanoTime();
        if (!reply.ok() || !isExpected(reply.status)) {
            errors.incrementAndGet();
            errorSample = reply.ok() ? "status " + reply.status : reply.outcome + ": " + reply.error;
            return;
        }
        samples.add(new Sample(now - due, now - sent, phase(reply, "wait_ns"), phase(reply, "send_ns")));
    }

    private boolean isExpected(int status) {
        return expected > 0 ? status == expected : status >= 200 && status < 300;
    }

    private Long phase(Reply reply, String name) {
        return withPhases && reply.timing != null && Json.has(reply.timing, name)
                ? (Long) reply.timing.get(name).getAsLong()
                : null;
    }

    private JsonObject report(long started, long ended) {
        JsonArray latencies = new JsonArray();
        JsonArray services = new JsonArray();
        JsonArray waits = new JsonArray();
        JsonArray sends = new JsonArray();
        for (Sample sample : samples) {
            latencies.add(sample.latencyNanos / 1000);
            services.add(sample.serviceNanos / 1000);
            if (sample.waitNanos != null) {
                waits.add(sample.waitNanos / 1000);
            }
            if (sample.sendNanos != null) {
                sends.add(sample.sendNanos / 1000);
            }
        }
        JsonObject json = new JsonObject();
        json.add("latencies_us", latencies);
        json.add("service_us", services);
        json.addProperty("errors", errors.get());
        json.addProperty("error_sample", errorSample);
        json.addProperty("started_mono_ns", started);
        json.addProperty("ended_mono_ns", ended);
        if (withPhases) {
            JsonObject phases = new JsonObject();
            phases.add("wait_us", waits);
            phases.add("send_us", sends);
            json.add("phases", phases);
        }
        return json;
    }
}
