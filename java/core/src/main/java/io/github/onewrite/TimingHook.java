package io.github.onewrite;

/**
 * Gets the record of each request once it is over. A type of its own: frameworks bind beans of the JDK's functional types to
 * channels and functions of theirs.
 */
@FunctionalInterface
public interface TimingHook {
    /**
     * Called when the connection of the request is free again or closed, on the thread that ended it, which may be an event
     * loop: a hook that blocks delays the other connections of that loop. Its exceptions are swallowed, counted in
     * {@link Status}, and logged once. Requests that it makes on its own thread have no record.
     */
    void onTiming(Timing timing);
}
