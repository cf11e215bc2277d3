package io.github.onewrite.ahc;

import io.github.onewrite.ErrorKind;
import io.github.onewrite.netty.NettyErrors;
import org.asynchttpclient.exception.ChannelClosedException;
import org.asynchttpclient.exception.PoolAlreadyClosedException;
import org.asynchttpclient.exception.RemotelyClosedException;
import org.asynchttpclient.exception.TooManyConnectionsException;
import org.asynchttpclient.exception.TooManyConnectionsPerHostException;
import org.jspecify.annotations.Nullable;

/** The kinds of AsyncHttpClient's errors. */
final class AhcErrors {
    private AhcErrors() {}

    static @Nullable ErrorKind kindOf(Throwable error) {
        if (error instanceof TooManyConnectionsException
                || error instanceof TooManyConnectionsPerHostException
                || error instanceof PoolAlreadyClosedException) {
            return ErrorKind.POOL;
        }
        if (error instanceof RemotelyClosedException || error instanceof ChannelClosedException) {
            return ErrorKind.CLOSED;
        }
        return NettyErrors.kindOf(error);
    }
}
