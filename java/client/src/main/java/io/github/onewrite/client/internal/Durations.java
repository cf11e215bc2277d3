package io.github.onewrite.client.internal;

import java.time.Duration;

/** Validates the caller's durations. */
public final class Durations {
    private Durations() {}

    public static Duration positive(String name, Duration given) {
        if (given.isNegative() || given.isZero()) {
            throw new IllegalArgumentException(name + " is to be longer than 0, not " + given);
        }
        return given;
    }

    public static Duration notNegative(String name, Duration given) {
        if (given.isNegative()) {
            throw new IllegalArgumentException(name + " is not to be negative, but is " + given);
        }
        return given;
    }

    /** In nanoseconds, at most about 146 years: sums with a clock reading stay comparable. */
    public static long nanos(Duration duration) {
        try {
            return Math.min(duration.toNanos(), Long.MAX_VALUE / 2);
        } catch (ArithmeticException e) {
            return Long.MAX_VALUE / 2;
        }
    }
}
