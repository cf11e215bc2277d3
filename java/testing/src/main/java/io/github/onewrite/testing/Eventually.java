package io.github.onewrite.testing;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;

/** Waits up to 30 s for what another thread does: the tests do not depend on how long it takes. */
public final class Eventually {
    private static final long PATIENCE_SECONDS = 30;

    private Eventually() {}

    public static void until(BooleanSupplier condition) throws InterruptedException {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(PATIENCE_SECONDS);
        while (!condition.getAsBoolean()) {
            assertTrue(System.nanoTime() < end, "waited " + PATIENCE_SECONDS + " s in vain");
            Thread.sleep(2);
        }
    }

    public static <T> T of(CompletableFuture<T> future) throws Exception {
        return future.get(PATIENCE_SECONDS, TimeUnit.SECONDS);
    }
}
