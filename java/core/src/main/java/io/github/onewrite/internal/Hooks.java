package io.github.onewrite.internal;

import io.github.onewrite.RecordListener;
import io.github.onewrite.Timing;
import io.github.onewrite.TimingEvent;
import io.github.onewrite.TimingListener;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;

/** The hooks of one client, fixed when it is made. Catches whatever a hook throws. */
public final class Hooks {
    private static final System.Logger LOG = System.getLogger("io.github.onewrite");
    private static final TimingListener SILENT = event -> {};
    private static final TimingListener[] NONE = {};

    /** The hooks that run on a thread. A request that one of them makes is not reported to it: that would never end. */
    private static final ThreadLocal<ArrayList<Object>> RUNNING = ThreadLocal.withInitial(() -> new ArrayList<>(2));

    private final List<Consumer<? super Timing>> consumers;
    private final List<TimingListener.Factory> factories;
    private final AtomicLong errors;

    /** @param errors counts how many times a hook has thrown */
    Hooks(List<Consumer<? super Timing>> consumers, List<TimingListener.Factory> factories, AtomicLong errors) {
        this.consumers = List.copyOf(consumers);
        this.factories = List.copyOf(factories);
        this.errors = errors;
    }

    /** Whether a hook is set, so that calls are timed. */
    public boolean wanted() {
        return !consumers.isEmpty() || !factories.isEmpty();
    }

    /** These without the ones that run on this thread. */
    Hooks withoutRunning() {
        List<Object> running = RUNNING.get();
        return running.isEmpty() ? this : new Hooks(without(consumers, running), without(factories, running), errors);
    }

    private static <H> List<H> without(List<H> hooks, List<Object> running) {
        return hooks.stream()
                .filter(hook -> running.stream().noneMatch(each -> each == hook))
                .toList();
    }

    /** The listeners of a call: one for each factory, in the same order. The URL is made only for them. */
    TimingListener[] listeners(Timing call) {
        if (factories.isEmpty()) {
            return NONE;
        }
        Object tag = call.tag().orElse(null);
        TimingListener[] made = new TimingListener[factories.size()];
        for (int i = 0; i < made.length; i++) {
            TimingListener.Factory factory = factories.get(i);
            int at = i;
            made[at] = SILENT;
            call(
                    factory,
                    () -> made[at] = Objects.requireNonNull(
                            factory.create(call.method(), call.url(), tag), "a factory returned null"));
        }
        return made;
    }

    void deliver(TimingListener[] listeners, TimingEvent event) {
        ArrayList<Object> running = RUNNING.get();
        for (int i = 0; i < listeners.length; i++) {
            if (listeners[i] instanceof RecordListener) {
                continue;
            }
            running.add(factories.get(i));
            try {
                listeners[i].onEvent(event);
            } catch (Throwable e) {
                swallow(e);
            } finally {
                running.remove(running.size() - 1);
            }
        }
    }

    void deliver(TimingListener[] listeners, Consumer<RecordListener> what) {
        for (int i = 0; i < listeners.length; i++) {
            if (listeners[i] instanceof RecordListener listener) {
                call(factories.get(i), () -> what.accept(listener));
            }
        }
    }

    void deliver(Timing timing) {
        for (Consumer<? super Timing> consumer : consumers) {
            call(consumer, () -> consumer.accept(timing));
        }
    }

    private void call(Object hook, Runnable what) {
        ArrayList<Object> running = RUNNING.get();
        running.add(hook);
        try {
            what.run();
        } catch (Throwable e) {
            swallow(e);
        } finally {
            running.remove(running.size() - 1);
        }
    }

    /** Errors too: a hook that overflows the stack must not keep its call from ending. Throws nothing itself. */
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
