package io.github.onewrite.internal.netty;

import io.github.onewrite.Kernel;
import io.github.onewrite.internal.CallTimer;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/** Reads what the kernel knows of one connection. */
public interface KernelProbe {

    /**
     * What one reading brought.
     *
     * @param windowLimitedNanos how long the peer's receive window kept the kernel from sending
     * @param nagle asks whether TCP_NODELAY is off: another system call, made where the answer matters
     */
    record Evidence(Kernel kernel, long windowLimitedNanos, BooleanSupplier nagle) {}

    /** Remembers the counters before a request. */
    void begin();

    /** The last reading is stale: bytes were sent that no reading has seen. */
    void forget();

    /**
     * Reads the evidence at the first byte of the response.
     *
     * @param waitedNanos since the last write returned
     * @return null when it could not be read
     */
    @Nullable
    Evidence end(long waitedNanos);

    /** Tells the timer of a response that has just begun what the kernel knows. */
    default void explain(CallTimer timer) {
        long waited = timer.waitNanos();
        Evidence evidence = waited < 0 ? null : end(waited);
        if (evidence != null) {
            timer.kernel(evidence.kernel(), evidence.windowLimitedNanos(), evidence.nagle());
        }
    }

    /** Makes the kernel acknowledge at once what is read next. Not durable: set again for each read. */
    void quickack();
}
