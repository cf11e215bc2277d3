package io.github.onewrite;

import org.jspecify.annotations.Nullable;

/**
 * Follows a call step by step.
 *
 * <p>Events come on the thread that carries the call, in order and never two at a time for one call. A listener is to be
 * fast, must not block and must not use the client it listens to. What it throws is swallowed, counted and logged once; it
 * never changes the request.
 *
 * <p>A listener given directly gets the events of all calls; one made by a {@link Factory} those of one call.
 */
@FunctionalInterface
public interface TimingListener {

    /** Makes the listener of one call. */
    @FunctionalInterface
    interface Factory {
        /**
         * Called at the start of a call, on the caller's thread.
         *
         * @param url as records show it: without credentials
         * @param tag the caller's own object given with the request, or null
         */
        TimingListener create(String method, String url, @Nullable Object tag);
    }

    /** Called for each event. */
    void onEvent(TimingEvent event);
}
