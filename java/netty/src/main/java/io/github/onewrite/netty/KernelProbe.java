package io.github.onewrite.netty;

import io.github.onewrite.Kernel;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/** Reads one connection's TCP statistics from the kernel. */
interface KernelProbe {

    /**
     * The result of one reading.
     *
     * @param windowLimitedNanos how long the peer's receive window kept the kernel from sending
     * @param nagle whether TCP_NODELAY is off: another system call, made only if needed
     */
    record Evidence(Kernel kernel, long windowLimitedNanos, BooleanSupplier nagle) {}

    /**
     * A request begins.
     *
     * @param read whether its evidence will be read; if not, the last reading cannot be compared with the next
     */
    void begin(boolean read);

    /**
     * Reads the evidence at the first byte of the response.
     *
     * @param waitedNanos since the last write returned
     * @return null when it could not be read
     */
    @Nullable
    Evidence end(long waitedNanos);

    /** Sets TCP_QUICKACK, which the kernel resets: set again after each read. */
    void quickack();
}
