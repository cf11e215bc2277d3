package io.github.onewrite.client;

import io.netty.channel.ChannelOption;
import io.netty.handler.ssl.SslContext;
import io.netty.resolver.AddressResolverGroup;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;

/** What a client was built with. Durations in nanoseconds; 0 is none. */
record Settings(
        Transport transport,
        Map<ChannelOption<?>, Object> channelOptions,
        Callable<SslContext> tls,
        @Nullable Proxy proxy,
        @Nullable AddressResolverGroup<?> resolver,
        boolean decompress,
        int maxConnections,
        int maxPending,
        long connectTimeout,
        long queueTimeout,
        long responseTimeout,
        long idleReadTimeout,
        long callTimeout,
        long idleLimit,
        long maxLifetime,
        int maxBody) {

    /** In nanoseconds; a duration that is longer than a long can hold is its largest value. */
    static long nanos(Duration limit) {
        return limit.compareTo(Duration.ofNanos(Long.MAX_VALUE)) > 0 ? Long.MAX_VALUE : limit.toNanos();
    }

    /** For options of Netty, where 0 is none. */
    int connectTimeoutMillis() {
        return connectTimeout == 0 ? 0 : (int) Math.min(Math.max(connectTimeout / 1_000_000, 1), Integer.MAX_VALUE);
    }

    /** Whether requests go to the proxy in absolute form. */
    boolean forwards(Target.Origin origin) {
        return proxy != null && !origin.tls();
    }
}
