package io.github.onewrite.bench.jmh;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** Threads that make calls one after the other, each waiting for its response, until a turn of 60 ms is over. */
final class Callers implements AutoCloseable {
    private static final long TURN_NANOS = 60_000_000;
    private static final int MOST_CALLS = 1 << 14;
    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

    private final ExecutorService threads;
    private final List<Caller> callers = new ArrayList<>();

    /**
     * What a turn measured.
     *
     * @param p50 median time of a call, in microseconds
     * @param p90 90th percentile of the time of a call, in microseconds
     * @param rate calls per second of all callers together
     * @param bytes allocated by all threads of the process, per call
     */
    record Turn(double p50, double p90, double rate, double bytes) {}

    Callers(int count) {
        threads = Executors.newFixedThreadPool(count);
        for (int i = 0; i < count; i++) {
            callers.add(new Caller());
        }
    }

    private static final class Caller implements Callable<Integer> {
        final long[] nanos = new long[MOST_CALLS];
        Poster poster;
        long until;

        @Override
        public Integer call() throws Exception {
            int calls = 0;
            long began = System.nanoTime();
            do {
                int status = poster.post();
                if (status != 200) {
                    throw new IllegalStateException("status " + status);
                }
                long ended = System.nanoTime();
                nanos[calls++] = ended - began;
                began = ended;
            } while (began < until && calls < MOST_CALLS);
            return calls;
        }
    }

    Turn turn(Poster poster) throws Exception {
        Map<Long, Long> before = allocated();
        long began = System.nanoTime();
        for (Caller each : callers) {
            each.poster = poster;
            each.until = began + TURN_NANOS;
        }
        List<Future<Integer>> made = threads.invokeAll(callers);
        long took = System.nanoTime() - began;
        long bytes = 0;
        for (Map.Entry<Long, Long> each : allocated().entrySet()) {
            bytes += each.getValue() - before.getOrDefault(each.getKey(), 0L);
        }
        int calls = 0;
        for (Future<Integer> each : made) {
            calls += each.get();
        }
        long[] all = new long[calls];
        int at = 0;
        for (int i = 0; i < callers.size(); i++) {
            int own = made.get(i).get();
            System.arraycopy(callers.get(i).nanos, 0, all, at, own);
            at += own;
        }
        Arrays.sort(all);
        return new Turn(all[calls / 2] / 1e3, all[calls * 9 / 10] / 1e3, calls * 1e9 / took, (double) bytes / calls);
    }

    /** The bytes that each thread has allocated so far, by thread id. */
    private static Map<Long, Long> allocated() {
        long[] ids = THREADS.getAllThreadIds();
        long[] bytes = THREADS.getThreadAllocatedBytes(ids);
        Map<Long, Long> byThread = new HashMap<>();
        for (int i = 0; i < ids.length; i++) {
            if (bytes[i] >= 0) {
                byThread.put(ids[i], bytes[i]);
            }
        }
        return byThread;
    }

    @Override
    public void close() {
        threads.shutdownNow();
    }
}
