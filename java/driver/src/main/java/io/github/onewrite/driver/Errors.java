package io.github.onewrite.driver;

import java.io.InterruptedIOException;
import java.net.ConnectException;
import java.net.NoRouteToHostException;
import java.net.UnknownHostException;
import java.util.Locale;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeoutException;
import javax.net.ssl.SSLException;

/** The protocol's error kind of a stock client's exception, from its class and message. */
final class Errors {
    private Errors() {}

    static Throwable unwrap(Throwable error) {
        Throwable cause = error;
        while ((cause instanceof CompletionException || cause instanceof ExecutionException)
                && cause.getCause() != null) {
            cause = cause.getCause();
        }
        return cause;
    }

    static String kind(Throwable error) {
        for (Throwable each = error; each != null; each = each.getCause()) {
            String kind = kindOf(each);
            if (kind != null) {
                return kind;
            }
        }
        return "other";
    }

    private static String kindOf(Throwable error) {
        String type = error.getClass().getSimpleName();
        String message = String.valueOf(error.getMessage()).toLowerCase(Locale.ROOT);
        if (error instanceof UnknownHostException) {
            return "dns";
        }
        if (type.contains("Timeout") || error instanceof InterruptedIOException || error instanceof TimeoutException) {
            return message.contains("acquire") ? "pool" : "timeout";
        }
        if (error instanceof ConnectException
                || error instanceof NoRouteToHostException
                || type.equals("HttpProxyConnectException")
                || type.equals("ProxyConnectException")
                || message.contains("response code for connect")
                || message.contains("authenticate with proxy")) {
            return "connect";
        }
        if (error instanceof SSLException || type.contains("Ssl")) {
            return "tls";
        }
        if (message.contains("reset") || message.contains("broken pipe")) {
            return "reset";
        }
        if (type.contains("ClosedChannel")
                || type.contains("Premature")
                || type.equals("EOFException")
                || message.contains("closed")
                || message.contains("unexpected end")) {
            return "closed";
        }
        if (type.equals("ProtocolException") || type.contains("Decoder") || type.contains("TooLong")) {
            return "protocol";
        }
        return null;
    }
}
