package io.github.onewrite.spi;

import io.github.onewrite.OnewriteConfig;
import io.github.onewrite.Timing;
import io.github.onewrite.TimingEvent;
import io.github.onewrite.TimingListener;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** The hooks of one client, fixed when it is built. Exceptions of hooks are caught here. */
public final class Hooks {
    private static final System.Logger LOG = System.getLogger("io.github.onewrite");

    private final List<Consumer<? super Timing>> consumers;
    private final List<TimingListener.Factory> factories;
    private final boolean enabled;
    private final AtomicLong raised;

    public Hooks(
            OnewriteConfig config, List<Consumer<? super Timing>> consumers, List<TimingListener.Factory> factories) {
        this(config, consumers, factories, new AtomicLong());
    }

    /** @param raised counts how many times a hook has thrown; may be common to several clients */
    public Hooks(
            OnewriteConfig config,
            List<Consumer<? super Timing>> consumers,
            List<TimingListener.Factory> factories,
            AtomicLong raised) {
        this.raised = raised;
        this.enabled = config.callsHooks();
        this.consumers = enabled ? List.copyOf(consumers) : List.of();
        this.factories = enabled ? List.copyOf(factories) : List.of();
        // Registers the event type now if a recording runs, not at the end of the first call.
        recording();
    }

    /** Whether a call needs a timer: a hook is set, or a flight recording wants its event. */
    public boolean wanted() {
        return !consumers.isEmpty() || !factories.isEmpty() || recording();
    }

    /** Whether a listener is set. */
    public boolean listens() {
        return !factories.isEmpty();
    }

    private boolean recording() {
        return enabled && FlightRecorder.wantsCalls();
    }

    /** How many times a hook has thrown. */
    public long raised() {
        return raised.get();
    }

    List<TimingListener> listeners(String method, String url, @Nullable Object tag) {
        if (factories.isEmpty()) {
            return List.of();
        }
        List<TimingListener> listeners = new ArrayList<>(factories.size());
        for (TimingListener.Factory factory : factories) {
            try {
                listeners.add(Objects.requireNonNull(factory.create(method, url, tag), "a factory returned null"));
            } catch (Throwable e) {
                swallow(e);
            }
        }
        return listeners;
    }

    void deliver(List<TimingListener> listeners, TimingEvent event) {
        for (int i = 0; i < listeners.size(); i++) {
            try {
                listeners.get(i).onEvent(event);
            } catch (Throwable e) {
                swallow(e);
            }
        }
    }

    /** The listeners that take more than events. */
    static List<RecordListener> recordListeners(List<TimingListener> listeners) {
        List<RecordListener> found = List.of();
        for (TimingListener each : listeners) {
            if (each instanceof RecordListener one) {
                found = found.isEmpty() ? new ArrayList<>(1) : found;
                found.add(one);
            }
        }
        return found;
    }

    <H> void deliver(List<H> hooks, Consumer<H> what) {
        for (int i = 0; i < hooks.size(); i++) {
            try {
                what.accept(hooks.get(i));
            } catch (Throwable e) {
                swallow(e);
            }
        }
    }

    void deliver(Timing timing) {
        deliver(consumers, each -> each.accept(timing));
    }

    /** Errors too: a hook that overflows the stack must not keep its call from ending. */
    private void swallow(Throwable thrown) {
        if (raised.incrementAndGet() > 1) {
            return;
        }
        String message = "a timing hook threw; the request goes on, and further ones are counted, not logged";
        try {
            LOG.log(System.Logger.Level.WARNING, message, thrown);
        } catch (Throwable e) {
            // Printing the exception threw: only the name of its class is safe.
            LOG.log(
                    System.Logger.Level.WARNING,
                    message + ": " + thrown.getClass().getName());
        }
    }
}
