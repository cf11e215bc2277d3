package io.github.onewrite.client;

import io.netty.channel.ChannelOption;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import io.netty.resolver.AddressResolverGroup;
import io.netty.resolver.DefaultAddressResolverGroup;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import javax.net.ssl.SSLException;
import org.jspecify.annotations.Nullable;

/** What a client is built with, and the defaults. Durations in nanoseconds; 0 is none. */
final class Settings implements Cloneable {
    Map<ChannelOption<?>, Object> channelOptions = new LinkedHashMap<>();

    @Nullable
    Transport transport;

    @Nullable
    SslContext tls;

    @Nullable
    Proxy proxy;

    AddressResolverGroup<?> resolver = DefaultAddressResolverGroup.INSTANCE;
    boolean decompress;
    int maxConnections = 64;
    int maxPending = 10_000;
    int maxBody = 16 * 1024 * 1024;
    long connectTimeout = nanos(Duration.ofSeconds(10));
    long queueTimeout = nanos(Duration.ofSeconds(30));
    long responseTimeout = nanos(Duration.ofSeconds(60));
    long idleReadTimeout = nanos(Duration.ofSeconds(60));
    long callTimeout;
    long idleLimit = nanos(Duration.ofSeconds(30));
    long maxLifetime;

    /** Later changes of a builder do not reach the clients that it made. */
    Settings copy() {
        try {
            Settings copy = (Settings) clone();
            copy.channelOptions = new LinkedHashMap<>(channelOptions);
            return copy;
        } catch (CloneNotSupportedException e) {
            throw new AssertionError(e);
        }
    }

    /** In nanoseconds; a duration that is longer than a long can hold is its largest value. */
    static long nanos(Duration limit) {
        return limit.compareTo(Duration.ofNanos(Long.MAX_VALUE)) > 0 ? Long.MAX_VALUE : limit.toNanos();
    }

    /** For options of Netty, where 0 is none. */
    static int millis(long nanos) {
        return nanos == 0 ? 0 : (int) Math.min(Math.max(nanos / 1_000_000, 1), Integer.MAX_VALUE);
    }

    /** By default it is made for the first https call: to read the JDK's trust store takes some 100 ms. */
    synchronized SslContext tls() throws SSLException {
        if (tls == null) {
            tls = SslContextBuilder.forClient().build();
        }
        return tls;
    }
}
