package io.github.onewrite.internal;

import java.util.ArrayDeque;
import org.jspecify.annotations.Nullable;

/**
 * Orders the steps of a call that several threads carry. A thread that comes while another one takes a
 * step, or is in a hook, leaves its step to that one. No lock is held while hooks run.
 */
public final class HookQueue {
    private final ArrayDeque<Runnable> waiting = new ArrayDeque<>(1);
    private boolean taking;

    /** A queue for one call. */
    public HookQueue() {}

    /** Takes the step, now or after those that came before. */
    public void run(Runnable step) {
        synchronized (waiting) {
            if (taking) {
                waiting.add(step);
                return;
            }
            taking = true;
        }
        for (Runnable next = step; next != null; next = next()) {
            next.run();
        }
    }

    private @Nullable Runnable next() {
        synchronized (waiting) {
            Runnable next = waiting.poll();
            taking = next != null;
            return next;
        }
    }
}
