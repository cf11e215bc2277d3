package io.github.onewrite;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;

/**
 * Options common to all customizers: the switches, and the hooks. Only the adapters extend it.
 *
 * @param <S> the customizer, which each method returns
 */
public abstract class TimingOptions<S extends TimingOptions<S>> {
    private OnewriteConfig config = OnewriteConfig.defaults();
    private final List<Consumer<? super Timing>> consumers = new ArrayList<>();
    private final List<TimingListener.Factory> listeners = new ArrayList<>();
    private AtomicLong hookFailures = new AtomicLong();
    private SocketCounts counts = new SocketCounts();
    private final Map<String, String> notes = new ConcurrentHashMap<>();
    private volatile boolean applied;

    /** Starts with the switches of system properties and environment. For adapters. */
    protected TimingOptions() {}

    /** Replaces the switches. Default: system properties and environment. */
    public S config(OnewriteConfig switches) {
        config = Objects.requireNonNull(switches, "switches");
        return self();
    }

    /** Called once per call with its finished timing, on the thread that ends the call. May be given several times. */
    public S onTiming(Consumer<? super Timing> consumer) {
        consumers.add(Objects.requireNonNull(consumer, "consumer"));
        return self();
    }

    /** A listener of the events of all calls. */
    public S listener(TimingListener listener) {
        Objects.requireNonNull(listener, "listener");
        return listenerFactory((method, url, tag) -> listener);
    }

    /** Makes a listener for each call. The customizer's documentation says where its tag comes from. */
    public S listenerFactory(TimingListener.Factory factory) {
        listeners.add(Objects.requireNonNull(factory, "factory"));
        return self();
    }

    /** Takes the switches, hooks and notes of another customizer, which counts the failures of its hooks. For adapters. */
    protected final S like(TimingOptions<?> other) {
        config = other.config;
        consumers.addAll(other.consumers);
        listeners.addAll(other.listeners);
        hookFailures = other.hookFailures;
        counts = other.counts;
        notes.putAll(other.notes);
        applied = other.applied;
        return self();
    }

    /** How many times a timing hook has thrown, in all clients this was applied to. */
    public long hookFailures() {
        return hookFailures.get();
    }

    /** The state of each patch and the reason for it, with the present switches and hooks. */
    public Status status() {
        String off = config.disabled() ? "disabled is set" : applied ? null : "it was not applied yet";
        return Status.of(base(), off, notes, counts, config, consumers.size() + listeners.size(), hookFailures());
    }

    /** Says in the status that this was applied. For adapters. */
    protected final void applied() {
        applied = true;
    }

    /** Says in the status why something is not on, or how far. For adapters. */
    protected final void note(String patch, String why) {
        notes.put(patch, why);
    }

    /** The library that is customized. */
    protected abstract Status.Base base();

    /** Returns this, typed as the subclass. */
    protected abstract S self();

    /** The present switches. For adapters. */
    protected final OnewriteConfig switches() {
        return config;
    }

    /** Counts the sockets that are not as the switches say. For adapters. */
    protected final SocketCounts counts() {
        return counts;
    }

    /** The present hooks. For adapters. */
    protected final Hooks hooks() {
        return new Hooks(config, consumers, listeners, hookFailures);
    }
}
