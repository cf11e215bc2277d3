package io.github.onewrite.internal;

import io.github.onewrite.OnewriteConfig;
import io.github.onewrite.Status;
import io.github.onewrite.Timing;
import io.github.onewrite.TimingListener;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import java.util.function.Supplier;

/** What a customizer was given, and what it found: switches, hooks, and the state of each patch. */
public final class Setup {
    private static final String ON = "on";

    /** Connections whose TCP_NODELAY was read back as off. */
    public final AtomicLong withoutNodelay;

    /** Connections whose writes are not joined. */
    public final AtomicLong notJoined;

    private final Supplier<Status.Base> base;
    private OnewriteConfig config = OnewriteConfig.defaults();
    private final List<Consumer<? super Timing>> consumers = new ArrayList<>();
    private final List<TimingListener.Factory> listeners = new ArrayList<>();
    private final AtomicLong hookErrors;
    private final Map<String, String> notes;
    private volatile boolean applied;

    /** Starts with the switches of system properties and environment. */
    public Setup(Supplier<Status.Base> base) {
        this.base = base;
        this.hookErrors = new AtomicLong();
        this.withoutNodelay = new AtomicLong();
        this.notJoined = new AtomicLong();
        this.notes = new ConcurrentHashMap<>();
    }

    private Setup(Setup other) {
        this.base = other.base;
        this.config = other.config;
        this.consumers.addAll(other.consumers);
        this.listeners.addAll(other.listeners);
        this.hookErrors = other.hookErrors;
        this.withoutNodelay = other.withoutNodelay;
        this.notJoined = other.notJoined;
        this.notes = other.notes;
        this.applied = other.applied;
    }

    /** These, which later changes of the customizer do not reach. Failures of hooks and sockets are counted together. */
    public Setup copy() {
        return new Setup(this);
    }

    public void config(OnewriteConfig switches) {
        config = Objects.requireNonNull(switches, "switches");
    }

    public void onTiming(Consumer<? super Timing> consumer) {
        consumers.add(Objects.requireNonNull(consumer, "consumer"));
    }

    public void listener(TimingListener listener) {
        Objects.requireNonNull(listener, "listener");
        listenerFactory((method, url, tag) -> listener);
    }

    public void listenerFactory(TimingListener.Factory factory) {
        listeners.add(Objects.requireNonNull(factory, "factory"));
    }

    /** The present switches. */
    public OnewriteConfig switches() {
        return config;
    }

    /** The present hooks. */
    public Hooks hooks() {
        boolean called = config.callsHooks();
        return new Hooks(called ? consumers : List.of(), called ? listeners : List.of(), hookErrors);
    }

    /** Says in the status that the customizer was applied. */
    public void applied() {
        applied = true;
    }

    /** Says in the status why something is not on, or how far. */
    public void note(String patch, String why) {
        notes.put(patch, why);
    }

    /** The state of each patch with the present switches and hooks. */
    public Status status() {
        int hooks = consumers.size() + listeners.size();
        String observes = config.observe() ? "observe is set" : ON;
        Map<String, String> patches = new LinkedHashMap<>();
        patches.put("nodelay", config.nodelayDisabled() ? "nodelayDisabled is set" : observes);
        patches.put("coalesce", config.coalesceDisabled() ? "coalesceDisabled is set" : observes);
        patches.put("timing", config.hooksDisabled() ? "hooksDisabled is set" : hooks == 0 ? "waits for a hook" : ON);
        patches.put("quickack", config.quickack() ? observes : "quickack is not set");
        notes.forEach((patch, why) -> patches.merge(patch, why, (state, note) -> state.equals(ON) ? note : state));
        patches.replace("nodelay", ON, text(withoutNodelay));
        patches.replace("coalesce", ON, text(notJoined));
        String off = config.disabled() ? "disabled is set" : applied ? null : "it was not applied yet";
        if (off != null) {
            patches.replaceAll((patch, state) -> off);
        }
        return new Status(
                Status.class.getPackage().getImplementationVersion(),
                off == null,
                off,
                base.get(),
                Map.copyOf(patches),
                config,
                hooks,
                hookErrors.get());
    }

    private static String text(AtomicLong exceptions) {
        long count = exceptions.get();
        return count == 0 ? ON : ON + "; connections without it so far: " + count;
    }
}
