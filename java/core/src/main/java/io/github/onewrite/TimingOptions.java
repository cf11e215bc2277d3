package io.github.onewrite;

import io.github.onewrite.internal.Setup;
import java.util.function.Consumer;

/**
 * Options common to all customizers: the switches, and the hooks. Only the adapters extend it.
 *
 * @param <S> the customizer, which each method returns
 */
public abstract class TimingOptions<S extends TimingOptions<S>> {
    private final Setup setup;

    /** Starts with the switches of system properties and environment. */
    @SuppressWarnings("exports") // Its module exports the package to the adapters.
    protected TimingOptions(Setup setup) {
        this.setup = setup;
    }

    @SuppressWarnings("unchecked")
    private S self() {
        return (S) this;
    }

    /** Replaces the switches. Default: system properties and environment. */
    public S config(OnewriteConfig switches) {
        setup.config(switches);
        return self();
    }

    /** Called once per call with its finished timing, on the thread that ends the call. May be given several times. */
    public S onTiming(Consumer<? super Timing> consumer) {
        setup.onTiming(consumer);
        return self();
    }

    /** A listener of the events of all calls. */
    public S listener(TimingListener listener) {
        setup.listener(listener);
        return self();
    }

    /** Makes a listener for each call. The customizer's documentation says where its tag comes from. */
    public S listenerFactory(TimingListener.Factory factory) {
        setup.listenerFactory(factory);
        return self();
    }

    /** The state of each patch and the reason for it, with the present switches and hooks. */
    public Status status() {
        return setup.status();
    }
}
