package io.github.onewrite.netty.internal;

import io.github.onewrite.ErrorKind;
import io.netty.channel.ConnectTimeoutException;
import io.netty.channel.pool.FixedChannelPool;
import io.netty.handler.codec.DecoderException;
import io.netty.handler.codec.PrematureChannelClosureException;
import io.netty.handler.ssl.SslHandshakeTimeoutException;
import io.netty.handler.timeout.TimeoutException;
import java.net.ConnectException;
import java.util.Set;
import javax.net.ssl.SSLException;
import org.jspecify.annotations.Nullable;

/** The kinds of Netty's errors. */
public final class NettyErrors {
    /** Netty's pool throws an IllegalStateException for these, so the message decides. */
    private static final Set<String> POOL_MESSAGES =
            Set.of("Too many outstanding acquire operations", "FixedChannelPool was closed");

    private NettyErrors() {}

    /** Null for an error that is not Netty's. */
    public static @Nullable ErrorKind kindOf(Throwable error) {
        if (error.getClass().getEnclosingClass() == FixedChannelPool.class) {
            return ErrorKind.POOL;
        }
        if (error instanceof IllegalStateException) {
            return POOL_MESSAGES.contains(String.valueOf(error.getMessage())) ? ErrorKind.POOL : null;
        }
        if (error.getClass() == java.util.concurrent.TimeoutException.class
                && "Acquire operation took longer then configured maximum time".equals(error.getMessage())) {
            return ErrorKind.POOL;
        }
        if (error instanceof TimeoutException
                || error instanceof ConnectTimeoutException
                || error instanceof SslHandshakeTimeoutException) {
            return ErrorKind.TIMEOUT;
        }
        if (error instanceof SSLException && error.getCause() instanceof ConnectException) {
            // The handshake is not begun, because a proxy refuses.
            return ErrorKind.CONNECT;
        }
        if (error instanceof PrematureChannelClosureException) {
            return ErrorKind.CLOSED;
        }
        if (error instanceof DecoderException) {
            // Netty wraps what TLS threw in a DecoderException.
            return error.getCause() instanceof SSLException ? ErrorKind.TLS : ErrorKind.PROTOCOL;
        }
        return null;
    }
}
