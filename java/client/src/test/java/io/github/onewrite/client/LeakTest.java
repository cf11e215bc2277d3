package io.github.onewrite.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.onewrite.testing.Eventually;
import io.github.onewrite.testing.LeakExtension;
import io.netty.buffer.PooledByteBufAllocator;
import io.netty.util.ResourceLeakDetector;
import org.junit.jupiter.api.Test;

/** The control for all other tests: a buffer that is not released is detected, and would fail its class. */
class LeakTest {
    @Test
    void aLeakIsFound() throws Exception {
        assertEquals(ResourceLeakDetector.Level.PARANOID, ResourceLeakDetector.getLevel());
        assertEquals(0, LeakExtension.leaks().size());
        leak();
        Eventually.until(() -> {
            try {
                return !LeakExtension.leaks().isEmpty();
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        });
        assertTrue(LeakExtension.leaks().get(0).contains("LeakTest"), () -> "the leak names who made it");
        LeakExtension.forget();
    }

    private static void leak() {
        PooledByteBufAllocator.DEFAULT.directBuffer(16).writeByte(1);
    }
}
