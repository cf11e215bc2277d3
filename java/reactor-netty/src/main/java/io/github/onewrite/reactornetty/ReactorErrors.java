package io.github.onewrite.reactornetty;

import io.github.onewrite.ErrorKind;
import io.github.onewrite.netty.internal.NettyErrors;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import reactor.netty.channel.AbortedException;
import reactor.netty.http.client.PrematureCloseException;

/** The kinds of Reactor Netty's errors. */
final class ReactorErrors {
    /** By name: Reactor Netty's jar has these in an internal package. */
    private static final Set<String> POOL_TYPES =
            Set.of("PoolAcquireTimeoutException", "PoolAcquirePendingLimitException", "PoolShutdownException");

    private ReactorErrors() {}

    static @Nullable ErrorKind kindOf(Throwable error) {
        if (POOL_TYPES.contains(error.getClass().getSimpleName())) {
            return ErrorKind.POOL;
        }
        if (error instanceof PrematureCloseException || error instanceof AbortedException) {
            return ErrorKind.CLOSED;
        }
        return NettyErrors.kindOf(error);
    }
}
