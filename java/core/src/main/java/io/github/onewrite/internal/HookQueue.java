package io.github.onewrite.internal;

import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * Orders the steps of a call that several threads carry. A thread that comes while another one takes a
 * step, or is in a hook, leaves its step to that one. No lock is held while hooks run.
 */
public final class HookQueue {
    /** A step that waits, above those that came before it. */
    private record Waiting(
            @Nullable Runnable step, @Nullable Waiting before) {}

    /** A step is taken, and none waits. */
    private static final Waiting NONE = new Waiting(null, null);

    /** Null while no step is taken. */
    private final AtomicReference<@Nullable Waiting> last = new AtomicReference<>();

    /** A queue for one call. */
    public HookQueue() {}

    /** Takes the step, now or after those that came before. */
    public void run(Runnable step) {
        while (!last.compareAndSet(null, NONE)) {
            Waiting before = last.get();
            if (before != null && last.compareAndSet(before, new Waiting(step, before))) {
                return;
            }
        }
        step.run();
        while (!last.compareAndSet(NONE, null)) {
            run(last.getAndSet(NONE));
        }
    }

    /** The oldest first. */
    private static void run(@Nullable Waiting newest) {
        Waiting oldestFirst = null;
        for (Waiting each = newest; each != null; each = each.before) {
            oldestFirst = new Waiting(each.step, oldestFirst);
        }
        for (Waiting each = oldestFirst; each != null; each = each.before) {
            if (each.step != null) {
                each.step.run();
            }
        }
    }
}
