package io.github.onewrite;

import java.util.Locale;

/** How a request ended. */
public enum Outcome {
    /** The response was read to its end, whatever its status. */
    OK,
    ERROR,
    /** The program gave up. */
    CANCELLED;

    private final String canonicalName = name().toLowerCase(Locale.ROOT);

    /** The name common to all languages. */
    public String canonicalName() {
        return canonicalName;
    }
}
