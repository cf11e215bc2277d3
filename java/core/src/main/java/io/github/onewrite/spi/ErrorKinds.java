package io.github.onewrite.spi;

import io.github.onewrite.ErrorKind;
import io.github.onewrite.OnewriteException;
import java.io.EOFException;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.net.BindException;
import java.net.ConnectException;
import java.net.NoRouteToHostException;
import java.net.ProtocolException;
import java.net.UnknownHostException;
import java.nio.channels.ClosedChannelException;
import java.util.Set;
import java.util.concurrent.CancellationException;
import java.util.concurrent.TimeoutException;
import javax.net.ssl.SSLException;
import org.jspecify.annotations.Nullable;

/** The kind of another client's exception: by its type, and by its whole message where libraries give nothing else. */
public final class ErrorKinds {
    private static final Set<String> POOL_TYPES = Set.of(
            "PoolAcquireTimeoutException", // Reactor Netty
            "PoolAcquirePendingLimitException",
            "PoolShutdownException",
            "AcquireTimeoutException", // Netty's FixedChannelPool
            "TooManyConnectionsException", // AsyncHttpClient
            "TooManyConnectionsPerHostException",
            "PoolAlreadyClosedException");

    private static final Set<String> PROXY_TYPES = Set.of("ProxyConnectException", "HttpProxyConnectException");

    private static final Set<String> CLOSED_TYPES = Set.of(
            "PrematureCloseException", // Reactor Netty
            "AbortedException",
            "PrematureChannelClosureException", // Netty
            "RemotelyClosedException", // AsyncHttpClient
            "ChannelClosedException");

    private static final Set<String> PROTOCOL_TYPES = Set.of(
            "DecoderException",
            "TooLongFrameException",
            "TooLongHttpHeaderException",
            "TooLongHttpLineException",
            "TooLongHttpContentException");

    /** Of the JDK's sockets and of Okio. */
    private static final Set<String> CLOSED_MESSAGES =
            Set.of("closed", "Socket closed", "Socket is closed", "Stream closed", "stream closed");

    private ErrorKinds() {}

    /** The kind of an error or, where that is unknown, of its cause. */
    public static ErrorKind of(@Nullable Throwable error) {
        Throwable each = error;
        for (int depth = 0; each != null && depth < 10; depth++) {
            ErrorKind kind = kindOf(each);
            if (kind != null) {
                return kind;
            }
            each = each.getCause();
        }
        return ErrorKind.OTHER;
    }

    /** The message of an error, or the name of its class if it has none. */
    public static String text(Throwable error) {
        String message = error.getMessage();
        return message == null ? error.getClass().getSimpleName() : message;
    }

    private static @Nullable ErrorKind kindOf(Throwable error) {
        String type = error.getClass().getSimpleName();
        if (error instanceof OnewriteException ours) {
            return ours.kind();
        }
        if (error instanceof CancellationException) {
            return ErrorKind.CANCELLED;
        }
        if (error instanceof UnknownHostException) {
            return ErrorKind.DNS;
        }
        if (POOL_TYPES.contains(type)) {
            return ErrorKind.POOL;
        }
        if (error instanceof InterruptedIOException
                || error instanceof TimeoutException
                || type.endsWith("TimeoutException")) {
            return ErrorKind.TIMEOUT;
        }
        if (error instanceof ConnectException
                || error instanceof BindException
                || error instanceof NoRouteToHostException
                || PROXY_TYPES.contains(type)) {
            return ErrorKind.CONNECT;
        }
        if (error instanceof SSLException) {
            return ErrorKind.TLS;
        }
        if (error instanceof EOFException || error instanceof ClosedChannelException || CLOSED_TYPES.contains(type)) {
            return ErrorKind.CLOSED;
        }
        if (PROTOCOL_TYPES.contains(type)) {
            // Netty wraps what TLS threw in a DecoderException.
            return error.getCause() instanceof SSLException ? ErrorKind.TLS : ErrorKind.PROTOCOL;
        }
        if (error instanceof IllegalArgumentException) {
            return ErrorKind.INVALID_REQUEST;
        }
        ErrorKind byMessage = byMessage(error, String.valueOf(error.getMessage()));
        return byMessage == null && error instanceof ProtocolException ? ErrorKind.PROTOCOL : byMessage;
    }

    /** Errors of the system, of OkHttp and of Netty's pool have types of their own no more than this. */
    private static @Nullable ErrorKind byMessage(Throwable error, String message) {
        if (error instanceof IllegalStateException) {
            return message.equals("Too many outstanding acquire operations") ? ErrorKind.POOL : null;
        }
        if (!(error instanceof IOException)) {
            return null;
        }
        if (message.equals("Canceled")) {
            return ErrorKind.CANCELLED;
        }
        if (message.startsWith("Unexpected response code for CONNECT: ")
                || message.equals("Failed to authenticate with proxy")) {
            return ErrorKind.CONNECT;
        }
        if (message.equals("Connection reset") || isSystemError(message, "Connection reset by peer")) {
            return ErrorKind.RESET;
        }
        if (CLOSED_MESSAGES.contains(message)
                || isSystemError(message, "Broken pipe")
                || message.equals("unexpected end of stream")
                || message.startsWith("unexpected end of stream on ")) {
            return ErrorKind.CLOSED;
        }
        return null;
    }

    /** Netty's native transports put the system call before it: {@code recvAddress(..) failed with error(-104): …}. */
    private static boolean isSystemError(String message, String text) {
        return message.equals(text) || (message.contains("(..) failed") && message.endsWith(": " + text));
    }
}
