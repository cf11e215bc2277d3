package io.github.onewrite.bench;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.openjdk.jmh.infra.BenchmarkParams;
import org.openjdk.jmh.infra.IterationParams;
import org.openjdk.jmh.profile.InternalProfiler;
import org.openjdk.jmh.results.AggregationPolicy;
import org.openjdk.jmh.results.IterationResult;
import org.openjdk.jmh.results.Result;
import org.openjdk.jmh.results.ScalarResult;

/**
 * CPU per operation of the Java threads, in microseconds. The compiler and the garbage collector are not Java threads. Time
 * that other processes take is not in it, unlike in a latency.
 */
public final class CpuProfiler implements InternalProfiler {
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

    private Map<Long, Long> before = Map.of();

    @Override
    public String getDescription() {
        return "CPU per operation of the Java threads";
    }

    @Override
    public void beforeIteration(BenchmarkParams benchmark, IterationParams iteration) {
        before = nanosByThread();
    }

    @Override
    public Collection<? extends Result<?>> afterIteration(
            BenchmarkParams benchmark, IterationParams iteration, IterationResult result) {
        long nanos = 0;
        for (Map.Entry<Long, Long> each : nanosByThread().entrySet()) {
            nanos += each.getValue() - before.getOrDefault(each.getKey(), 0L);
        }
        double micros = nanos / 1000.0 / result.getMetadata().getAllOps();
        return List.of(new ScalarResult("cpu", micros, "us/op", AggregationPolicy.AVG));
    }

    private static Map<Long, Long> nanosByThread() {
        Map<Long, Long> found = new HashMap<>();
        for (long thread : THREADS.getAllThreadIds()) {
            long nanos = THREADS.getThreadCpuTime(thread);
            if (nanos >= 0) { // -1: it has just ended
                found.put(thread, nanos);
            }
        }
        return found;
    }
}
