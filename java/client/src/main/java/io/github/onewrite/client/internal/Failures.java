package io.github.onewrite.client.internal;

import io.github.onewrite.ErrorKind;
import io.github.onewrite.OnewriteException;
import io.github.onewrite.ErrorKinds;
import io.netty.channel.socket.ChannelOutputShutdownException;
import io.netty.handler.codec.DecoderException;
import io.netty.handler.codec.http.TooLongHttpContentException;
import io.netty.handler.codec.http.TooLongHttpHeaderException;
import io.netty.handler.codec.http.TooLongHttpLineException;
import java.util.Objects;

/** Makes an {@link OnewriteException} of what Netty and the system throw. */
public final class Failures {
    private Failures() {}

    /** An error on an established connection. */
    public static OnewriteException onConnection(Throwable cause, Origin origin) {
        if (cause instanceof OnewriteException already) {
            return already;
        }
        Throwable root = cause instanceof DecoderException || cause instanceof ChannelOutputShutdownException
                ? Objects.requireNonNullElse(cause.getCause(), cause)
                : cause;
        ErrorKind kind = root instanceof ChannelOutputShutdownException ? ErrorKind.CLOSED : ErrorKinds.of(root);
        return switch (kind) {
            case TLS -> new OnewriteException(kind, "TLS with " + origin + " failed: " + ErrorKinds.text(root), cause);
            case CLOSED ->
                new OnewriteException(kind, origin + " closed the connection before the call was over", cause);
            case RESET ->
                new OnewriteException(kind, origin + " reset the connection: " + ErrorKinds.text(root), cause);
            default ->
                cause instanceof DecoderException
                        ? badResponse(cause, origin)
                        : new OnewriteException(ErrorKind.OTHER, "the call to " + origin + " failed: " + cause, cause);
        };
    }

    /** A publisher of the caller's threw where it must not (Reactive Streams, 1.9, 2.13 and 3.16). */
    public static OnewriteException ofBody(Throwable cause) {
        return new OnewriteException(ErrorKind.OTHER, "the body's publisher threw: " + cause, cause);
    }

    /** What was read is not an acceptable response. */
    public static OnewriteException badResponse(Throwable cause, Origin origin) {
        String limit = "";
        if (cause instanceof TooLongHttpHeaderException) {
            limit = "; the limit is maxHeaderBytes";
        } else if (cause instanceof TooLongHttpLineException) {
            limit = "; the limit is maxStatusLine";
        } else if (cause instanceof TooLongHttpContentException) {
            limit = "; the limit is maxBody";
        }
        return new OnewriteException(
                ErrorKind.PROTOCOL,
                origin + " sent what is not an acceptable HTTP/1.1 response: " + ErrorKinds.text(cause) + limit,
                cause);
    }
}
