package io.github.onewrite.internal;

import io.github.onewrite.Timing;
import io.github.onewrite.TimingHook;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicLong;

/** The hooks of one customizer. Catches whatever they throw. */
public final class Hooks {
    private static final System.Logger LOG = System.getLogger("io.github.onewrite");

    /** One cell for each thread: to set and remove the value itself would allocate. */
    private static final ThreadLocal<boolean[]> RUNNING = ThreadLocal.withInitial(() -> new boolean[1]);

    private final List<TimingHook> hooks = new CopyOnWriteArrayList<>();
    private final AtomicLong errors = new AtomicLong();

    /** None. */
    Hooks() {}

    /** Adds a hook. */
    public void add(TimingHook hook) {
        hooks.add(Objects.requireNonNull(hook, "hook"));
    }

    public boolean isEmpty() {
        return hooks.isEmpty();
    }

    int size() {
        return hooks.size();
    }

    /** How many times a hook has thrown. */
    long errors() {
        return errors.get();
    }

    /** Whether a hook runs on this thread: what it requests has no record, which would never end. */
    public static boolean running() {
        return RUNNING.get()[0];
    }

    /** Calls the hooks with a record that has ended. */
    public void deliver(Stamps ended) {
        Timing timing = new Timing(ended);
        boolean[] running = RUNNING.get();
        boolean outer = running[0];
        running[0] = true;
        for (TimingHook hook : hooks) {
            try {
                hook.onTiming(timing);
            } catch (Throwable e) {
                // Errors too: a hook that overflows the stack must not keep its event loop from going on.
                swallow(e);
            }
        }
        running[0] = outer;
    }

    /** Throws nothing itself. */
    private void swallow(Throwable thrown) {
        if (errors.incrementAndGet() > 1) {
            return;
        }
        try {
            String message = "a timing hook threw; the request goes on, and further ones are counted, not logged";
            LOG.log(System.Logger.Level.WARNING, message, thrown);
        } catch (Throwable e) {
            // It cannot be printed, or the logger is broken: the status counts it.
        }
    }
}
