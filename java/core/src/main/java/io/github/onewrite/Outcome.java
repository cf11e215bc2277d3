package io.github.onewrite;

/** How a call or an attempt ended. */
public enum Outcome {
    /** A response arrived, whatever its status. */
    OK("ok"),
    ERROR("error"),
    /** The caller gave up. */
    CANCELLED("cancelled");

    private final String canonicalName;

    Outcome(String canonicalName) {
        this.canonicalName = canonicalName;
    }

    /** The name common to all languages. */
    public String canonicalName() {
        return canonicalName;
    }
}
