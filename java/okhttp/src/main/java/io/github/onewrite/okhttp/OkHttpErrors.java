package io.github.onewrite.okhttp;

import io.github.onewrite.ErrorKind;
import io.github.onewrite.internal.ErrorKinds;
import java.io.IOException;
import java.io.InterruptedIOException;
import org.jspecify.annotations.Nullable;

/** The kinds of OkHttp's errors, which have only generic types: the whole message decides. */
final class OkHttpErrors {
    private OkHttpErrors() {}

    /** @param cancelled whether the call was cancelled; a time limit of the whole call cancels it, too */
    static ErrorKind kindOf(Throwable error, boolean cancelled) {
        ErrorKind kind = ErrorKinds.of(error, OkHttpErrors::kindOf);
        // A cancel closes the socket, and an error of the socket follows.
        boolean byCancel = cancelled && error instanceof IOException && kind != ErrorKind.TIMEOUT;
        return byCancel && kind != ErrorKind.POOL ? ErrorKind.CANCELLED : kind;
    }

    private static @Nullable ErrorKind kindOf(Throwable error) {
        if (!(error instanceof IOException)) {
            return null;
        }
        String message = String.valueOf(error.getMessage());
        if (error instanceof InterruptedIOException && message.equals("executor rejected")) {
            return ErrorKind.POOL;
        }
        if (message.equals("Canceled") || message.equals("Closed by interrupt")) {
            return ErrorKind.CANCELLED;
        }
        if (message.startsWith("Unexpected response code for CONNECT: ")
                || message.equals("Failed to authenticate with proxy")) {
            return ErrorKind.CONNECT;
        }
        return message.equals("unexpected end of stream") || message.startsWith("unexpected end of stream on ")
                ? ErrorKind.CLOSED
                : null;
    }
}
