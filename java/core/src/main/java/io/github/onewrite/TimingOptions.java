package io.github.onewrite;

import io.github.onewrite.internal.Setup;

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

    /**
     * Adds a hook. Connections and clients are prepared for hooks when they are made: the first hook reaches those that are
     * made after it.
     */
    public S onTiming(TimingHook hook) {
        setup.hooks().add(hook);
        return self();
    }

    /** The state of each thing that is changed, and the reason for it. */
    public Status status() {
        return setup.status();
    }
}
