package io.github.onewrite;

import java.io.IOException;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** A call failed. {@link #kind} says what to do about it; the cause, where there is one, is the base library's own. */
public final class OnewriteException extends IOException {
    private static final long serialVersionUID = 1L;

    private final ErrorKind kind;
    private @Nullable Phase phase;

    public OnewriteException(ErrorKind kind, String message) {
        this(kind, message, null);
    }

    public OnewriteException(ErrorKind kind, String message, @Nullable Throwable cause) {
        super(message, cause);
        this.kind = kind;
    }

    public ErrorKind kind() {
        return kind;
    }

    /** The phase in which it failed; empty when no phase was under way. */
    public Optional<Phase> phase() {
        return Optional.ofNullable(phase);
    }

    /** Sets the phase, once. */
    public OnewriteException in(@Nullable Phase failed) {
        if (phase == null) {
            phase = failed;
        }
        return this;
    }
}
