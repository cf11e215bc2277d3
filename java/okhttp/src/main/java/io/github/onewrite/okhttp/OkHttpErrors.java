package io.github.onewrite.okhttp;

import io.github.onewrite.ErrorKind;
import java.io.IOException;
import org.jspecify.annotations.Nullable;

/** The kinds of OkHttp's errors, which have only generic types: the whole message decides. */
final class OkHttpErrors {
    private OkHttpErrors() {}

    static @Nullable ErrorKind kindOf(Throwable error) {
        if (!(error instanceof IOException)) {
            return null;
        }
        String message = String.valueOf(error.getMessage());
        if (message.equals("Canceled")) {
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
