package io.github.onewrite.internal;

import io.github.onewrite.ErrorKind;
import io.github.onewrite.OnewriteException;
import java.io.EOFException;
import java.io.InterruptedIOException;
import java.net.BindException;
import java.net.ConnectException;
import java.net.NoRouteToHostException;
import java.net.ProtocolException;
import java.net.UnknownHostException;
import java.nio.channels.ClosedChannelException;
import java.util.Locale;
import java.util.concurrent.CancellationException;
import java.util.concurrent.TimeoutException;
import javax.net.ssl.SSLException;
import org.jspecify.annotations.Nullable;

/** The kind of another client's exception, from its class and message. */
public final class ErrorKinds {
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

    private static @Nullable ErrorKind kindOf(Throwable error) {
        String type = error.getClass().getSimpleName();
        String message = String.valueOf(error.getMessage()).toLowerCase(Locale.ROOT);
        if (error instanceof OnewriteException ours) {
            return ours.kind();
        }
        if (error instanceof CancellationException || message.equals("canceled")) {
            return ErrorKind.CANCELLED;
        }
        if (error instanceof UnknownHostException) {
            return ErrorKind.DNS;
        }
        if (type.contains("PoolAcquire") || type.startsWith("TooManyConnections") || message.contains("acquire")) {
            return ErrorKind.POOL;
        }
        if (error instanceof InterruptedIOException || error instanceof TimeoutException || type.contains("Timeout")) {
            return ErrorKind.TIMEOUT;
        }
        if (error instanceof ConnectException
                || error instanceof BindException
                || error instanceof NoRouteToHostException
                || type.equals("ProxyConnectException")
                || type.equals("HttpProxyConnectException")
                || message.contains("response code for connect")
                || message.contains("authenticate with proxy")) {
            return ErrorKind.CONNECT;
        }
        if (error instanceof SSLException) {
            return ErrorKind.TLS;
        }
        if (message.contains("connection reset")) {
            return ErrorKind.RESET;
        }
        if (error instanceof EOFException
                || error instanceof ClosedChannelException
                || type.contains("Premature")
                || message.contains("broken pipe")
                || message.contains("unexpected end of stream")
                || message.contains("closed")) {
            return ErrorKind.CLOSED;
        }
        if (error instanceof ProtocolException || type.contains("Decoder") || type.contains("TooLong")) {
            return ErrorKind.PROTOCOL;
        }
        return error instanceof IllegalArgumentException ? ErrorKind.INVALID_REQUEST : null;
    }
}
