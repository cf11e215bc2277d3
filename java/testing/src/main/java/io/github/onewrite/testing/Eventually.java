package io.github.onewrite.testing;

import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.onewrite.OnewriteException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;

/** Waits for what another thread does, generously: how long it takes is never the question. */
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

    /** The error a call ends with. */
    public static OnewriteException failure(CompletableFuture<?> future) {
        ExecutionException thrown =
                assertThrows(ExecutionException.class, () -> future.get(PATIENCE_SECONDS, TimeUnit.SECONDS));
        return (OnewriteException) thrown.getCause();
    }
}
