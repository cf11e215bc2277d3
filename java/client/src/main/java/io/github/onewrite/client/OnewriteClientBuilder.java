package io.github.onewrite.client;

import io.github.onewrite.TimingOptions;
import io.github.onewrite.internal.Setup;
import io.github.onewrite.netty.internal.NettySetup;
import io.netty.channel.ChannelFactory;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.socket.SocketChannel;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import io.netty.resolver.AddressResolverGroup;
import io.netty.resolver.DefaultAddressResolverGroup;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import javax.net.ssl.SSLException;
import org.jspecify.annotations.Nullable;

/**
 * Builds an {@link OnewriteClient}. Each method documents its default; invalid values are refused at once. Hooks run on
 * the event loop.
 */
public final class OnewriteClientBuilder extends TimingOptions<OnewriteClientBuilder> implements Cloneable {
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

    // In nanoseconds; 0 is none.
    long connectTimeout = nanos(Duration.ofSeconds(10));
    long queueTimeout = nanos(Duration.ofSeconds(30));
    long responseTimeout = nanos(Duration.ofSeconds(60));
    long idleReadTimeout = nanos(Duration.ofSeconds(60));
    long callTimeout;
    long idleLimit = nanos(Duration.ofSeconds(30));
    long maxLifetime;

    private final Setup setup;

    OnewriteClientBuilder() {
        this(NettySetup.create());
    }

    private OnewriteClientBuilder(Setup setup) {
        super(setup);
        this.setup = setup;
    }

    /** A socket option. {@link ChannelOption#TCP_NODELAY} given here is used as it is, and not checked. */
    public <T> OnewriteClientBuilder channelOption(ChannelOption<T> option, T value) {
        channelOptions.put(option, Objects.requireNonNull(value, "value"));
        return this;
    }

    /**
     * Uses event loops and channels of the caller's: NIO, io_uring, kqueue, loops shared with a server. The client does not
     * shut them down. Default: own loops, one per processor and at most 4, of epoll where its native library is on the
     * class path, else of NIO. One loop serves all calls to an origin. Only epoll can read kernel evidence.
     */
    public OnewriteClientBuilder eventLoopGroup(
            EventLoopGroup group, ChannelFactory<? extends SocketChannel> channels) {
        transport = new Transport(
                Objects.requireNonNull(group, "group"), Objects.requireNonNull(channels, "channels"), false);
        return this;
    }

    /** A TLS context with the caller's certificates, or on tcnative. Default: the JDK's. Host names are always verified. */
    public OnewriteClientBuilder sslContext(SslContext context) {
        tls = Objects.requireNonNull(context, "context");
        return this;
    }

    /** Forward proxy for http, tunnel for https. Default none; system properties are not read. */
    public OnewriteClientBuilder proxy(@Nullable Proxy through) {
        proxy = through;
        return this;
    }

    /**
     * Default: Netty's, which calls the JDK's on the event loop. Netty's DnsAddressResolverGroup does not block. The name
     * of a proxy for https is always resolved by the JDK.
     */
    public OnewriteClientBuilder resolver(AddressResolverGroup<?> names) {
        resolver = Objects.requireNonNull(names, "names");
        return this;
    }

    /** Requests gzip and deflate, and unpacks them. Default false: bodies are what was sent. */
    public OnewriteClientBuilder decompress(boolean value) {
        decompress = value;
        return this;
    }

    /** Default 64. */
    public OnewriteClientBuilder maxConnectionsPerOrigin(int connections) {
        maxConnections = positive("maxConnectionsPerOrigin", connections);
        return this;
    }

    /** Calls that may wait for a connection of an origin, 1 or more; further calls fail at once. Default 10000. */
    public OnewriteClientBuilder maxPendingPerOrigin(int calls) {
        maxPending = positive("maxPendingPerOrigin", calls);
        return this;
    }

    /** For TCP, for the tunnel and for TLS, each. Default 10 s; zero is no limit. */
    public OnewriteClientBuilder connectTimeout(Duration limit) {
        connectTimeout = notNegative("connectTimeout", limit);
        return this;
    }

    /** For waiting for a free connection. Default 30 s; zero is no limit. */
    public OnewriteClientBuilder queueTimeout(Duration limit) {
        queueTimeout = notNegative("queueTimeout", limit);
        return this;
    }

    /** From the request's last byte to the end of the response's headers. Default 60 s; zero is no limit. */
    public OnewriteClientBuilder responseTimeout(Duration limit) {
        responseTimeout = notNegative("responseTimeout", limit);
        return this;
    }

    /**
     * Longest silence within the body of a response. It does not run while the subscriber of a streamed body has no demand.
     * Default 60 s; zero is no limit.
     */
    public OnewriteClientBuilder idleReadTimeout(Duration limit) {
        idleReadTimeout = notNegative("idleReadTimeout", limit);
        return this;
    }

    /**
     * For the whole call. No other limit applies while the request is sent. Default none; a request's timeout replaces it.
     */
    public OnewriteClientBuilder callTimeout(Duration limit) {
        callTimeout = notNegative("callTimeout", limit);
        return this;
    }

    /**
     * A connection that was unused for longer is not used again. Default 30 s; keep it below the keep-alive time of the
     * server. Zero is no limit.
     */
    public OnewriteClientBuilder idleLimit(Duration limit) {
        idleLimit = notNegative("idleLimit", limit);
        return this;
    }

    /** An older connection is not used again. Default zero: no limit. */
    public OnewriteClientBuilder maxLifetime(Duration limit) {
        maxLifetime = notNegative("maxLifetime", limit);
        return this;
    }

    /** Longest body that is collected in memory, in bytes. Default 16 MiB; streamed bodies have no limit. */
    public OnewriteClientBuilder maxBody(int bytes) {
        maxBody = positive("maxBody", bytes);
        return this;
    }

    /** Builds the client and its event loops. Later changes of this builder do not reach it. */
    public OnewriteClient build() {
        setup.applied();
        try {
            OnewriteClientBuilder own = (OnewriteClientBuilder) clone();
            own.channelOptions = new LinkedHashMap<>(channelOptions);
            own.transport = transport == null ? Transport.preferred() : transport;
            return new OnewriteClient(own, setup.copy());
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

    private static int positive(String name, int value) {
        if (value < 1) {
            throw new IllegalArgumentException(name + " must be 1 or more, not " + value);
        }
        return value;
    }

    private static long notNegative(String name, Duration limit) {
        if (limit.isNegative()) {
            throw new IllegalArgumentException(name + " must be 0 or more, not " + limit);
        }
        return nanos(limit);
    }
}
