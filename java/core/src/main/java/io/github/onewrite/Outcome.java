package io.github.onewrite;

import java.util.Locale;

/** How a call or an attempt ended. */
public enum Outcome {
    /** A response arrived, whatever its status. */
    OK,
    ERROR,
    /** The caller gave up. */
    CANCELLED;

    private final String canonicalName = name().toLowerCase(Locale.ROOT);

    /** The name common to all languages. */
    public String canonicalName() {
        return canonicalName;
    }
}
