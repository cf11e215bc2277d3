package io.github.onewrite.testing;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;

/** Counts what the current thread allocates, to the byte. */
public final class Allocation {
    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

    private Allocation() {}

    /** Bytes that this thread allocates while it runs the task so many times. */
    public static long bytes(int times, Runnable task) {
        long before = THREADS.getCurrentThreadAllocatedBytes();
        for (int i = 0; i < times; i++) {
            task.run();
        }
        return THREADS.getCurrentThreadAllocatedBytes() - before;
    }
}
