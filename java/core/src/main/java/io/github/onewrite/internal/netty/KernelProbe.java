package io.github.onewrite.internal.netty;

import io.github.onewrite.Kernel;
import org.jspecify.annotations.Nullable;

/** Reads what the kernel knows of one connection. */
public interface KernelProbe {

    /**
     * What one reading brought.
     *
     * @param windowLimitedNanos how long the peer's receive window kept the kernel from sending
     * @param nagle whether TCP_NODELAY is off: asked only after a long wait, false after a short one
     */
    record Evidence(Kernel kernel, long windowLimitedNanos, boolean nagle) {}

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

    /** Makes the kernel acknowledge at once what is read next. Not durable: set again for each read. */
    void quickack();
}
