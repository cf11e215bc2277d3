package io.github.onewrite.internal;

import io.github.onewrite.ErrorKind;
import java.io.EOFException;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.net.BindException;
import java.net.ConnectException;
import java.net.NoRouteToHostException;
import java.net.ProtocolException;
import java.net.SocketTimeoutException;
import java.net.UnknownHostException;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.UnresolvedAddressException;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CancellationException;
import java.util.concurrent.TimeoutException;
import java.util.function.Function;
import javax.net.ssl.SSLException;
import org.jspecify.annotations.Nullable;

/**
 * The kind of an exception. Its type decides: of the JDK here, of a base library in the adapter. The JDK gives some errors
 * of the system only a generic type; of these the whole message decides.
 */
public final class ErrorKinds {
    private static final List<Map.Entry<Class<? extends Exception>, ErrorKind>> TYPES = List.of(
            Map.entry(CancellationException.class, ErrorKind.CANCELLED),
            Map.entry(InterruptedException.class, ErrorKind.CANCELLED),
            Map.entry(UnknownHostException.class, ErrorKind.DNS),
            Map.entry(UnresolvedAddressException.class, ErrorKind.DNS),
            Map.entry(SocketTimeoutException.class, ErrorKind.TIMEOUT),
            Map.entry(TimeoutException.class, ErrorKind.TIMEOUT),
            Map.entry(ConnectException.class, ErrorKind.CONNECT),
            Map.entry(BindException.class, ErrorKind.CONNECT),
            Map.entry(NoRouteToHostException.class, ErrorKind.CONNECT),
            Map.entry(SSLException.class, ErrorKind.TLS),
            Map.entry(EOFException.class, ErrorKind.CLOSED),
            Map.entry(ClosedChannelException.class, ErrorKind.CLOSED));

    /** Of the JDK's sockets and of Okio. */
    private static final Set<String> CLOSED =
            Set.of("closed", "Socket closed", "Socket is closed", "Stream closed", "stream closed");

    private static final int MAX_DEPTH = 10;

    private ErrorKinds() {}

    /**
     * The kind of an error or, where that is unknown, of its cause.
     *
     * @param own the kind of an error of the base library, or null
     */
    public static ErrorKind of(@Nullable Throwable error, Function<Throwable, @Nullable ErrorKind> own) {
        try {
            Throwable each = error;
            for (int depth = 0; each != null && depth < MAX_DEPTH; depth++) {
                ErrorKind kind = own.apply(each);
                kind = kind == null ? kindOf(each) : kind;
                if (kind != null) {
                    return kind;
                }
                each = each.getCause();
            }
        } catch (Throwable broken) {
            // An exception whose methods throw.
            return ErrorKind.OTHER;
        }
        return ErrorKind.OTHER;
    }

    private static @Nullable ErrorKind kindOf(Throwable error) {
        for (Map.Entry<Class<? extends Exception>, ErrorKind> each : TYPES) {
            if (each.getKey().isInstance(error)) {
                return each.getValue();
            }
        }
        if (error instanceof InterruptedIOException) {
            // Okio's time limits have this message; else the thread was interrupted.
            return "timeout".equals(error.getMessage()) ? ErrorKind.TIMEOUT : ErrorKind.CANCELLED;
        }
        if (error instanceof IOException && error.getClass().getName().startsWith("org.bouncycastle.tls.")) {
            return ErrorKind.TLS;
        }
        ErrorKind byMessage = error instanceof IOException ? byMessage(String.valueOf(error.getMessage())) : null;
        return byMessage == null && error instanceof ProtocolException ? ErrorKind.PROTOCOL : byMessage;
    }

    private static @Nullable ErrorKind byMessage(String message) {
        if (message.equals("Connection reset") || isSystemError(message, "Connection reset by peer")) {
            return ErrorKind.RESET;
        }
        if (isSystemError(message, "Connection timed out")) {
            return ErrorKind.TIMEOUT;
        }
        // Netty adds an address. java.net.SocksSocketImpl has all but the first.
        if (message.startsWith("Network is unreachable")
                || message.equals("Connection refused")
                || message.contains("SOCKS")) {
            return ErrorKind.CONNECT;
        }
        return CLOSED.contains(message) || isSystemError(message, "Broken pipe") ? ErrorKind.CLOSED : null;
    }

    /** Netty's native transports put the system call before it: {@code recvAddress(..) failed with error(-104): …}. */
    private static boolean isSystemError(String message, String text) {
        return message.equals(text) || (message.contains("(..) failed") && message.endsWith(": " + text));
    }
}
