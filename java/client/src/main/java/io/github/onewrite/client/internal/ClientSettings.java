package io.github.onewrite.client.internal;

import io.github.onewrite.OnewriteConfig;
import io.github.onewrite.client.Proxy;
import io.netty.channel.ChannelOption;
import java.util.Map;
import java.util.concurrent.Executor;
import org.jspecify.annotations.Nullable;

/** What a client was built with. Durations in nanoseconds; 0 is none. */
public record ClientSettings(
        OnewriteConfig config,
        Map<ChannelOption<?>, Object> channelOptions,
        TlsContext tls,
        Timekeeper time,
        @Nullable Proxy proxy,
        Lookups lookups,
        @Nullable Executor callbackExecutor,
        boolean decompress,
        int maxConnections,
        int maxWaiters,
        long connectTimeout,
        long queueTimeout,
        long responseTimeout,
        long idleReadTimeout,
        long callTimeout,
        long continueTimeout,
        long idleLimit,
        long maxLifetime,
        int maxStatusLine,
        int maxHeaderBytes,
        int maxHeaders,
        int maxBody) {

    /** Whether a channel without TCP_NODELAY is refused: not when the caller decides, nor when switched off. */
    public boolean demandsNodelay() {
        return config.guardsNodelay() && !channelOptions.containsKey(ChannelOption.TCP_NODELAY);
    }
}
