package io.github.onewrite.okhttp;

import java.util.ArrayList;
import java.util.List;

/** Tells, once, that a socket is closed. */
final class Closing {
    private List<Runnable> tasks = List.of();
    private boolean closed;

    /** Runs a task when the socket is closed; at once if it is. */
    void whenClosed(Runnable task) {
        synchronized (this) {
            if (!closed) {
                tasks = new ArrayList<>(tasks);
                tasks.add(task);
                return;
            }
        }
        run(task);
    }

    void close() {
        List<Runnable> waiting;
        synchronized (this) {
            closed = true;
            waiting = tasks;
            tasks = List.of();
        }
        waiting.forEach(Closing::run);
    }

    /** Whoever closes the socket is not to suffer from what a hook throws. */
    private static void run(Runnable task) {
        try {
            task.run();
        } catch (RuntimeException e) {
            System.getLogger("io.github.onewrite").log(System.Logger.Level.WARNING, "a timing hook threw", e);
        }
    }
}
