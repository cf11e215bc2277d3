package io.github.onewrite.client;

import io.github.onewrite.Status;
import io.github.onewrite.TimingOptions;
import io.github.onewrite.client.internal.ClientSettings;
import io.github.onewrite.client.internal.Durations;
import io.github.onewrite.client.internal.Lookups;
import io.github.onewrite.client.internal.Timekeeper;
import io.github.onewrite.client.internal.TlsContext;
import io.github.onewrite.client.internal.Transport;
import io.github.onewrite.netty.OnewriteNetty;
import io.netty.channel.ChannelFactory;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.socket.SocketChannel;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import io.netty.util.Version;
import java.io.File;
import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.Executor;
import java.util.function.IntFunction;
import javax.net.ssl.SSLException;
import org.jspecify.annotations.Nullable;

/**
 * Builds an {@link OnewriteClient}. Each method documents its default; invalid values are refused at once. Hooks run on
 * the event loop.
 */
public final class OnewriteClientBuilder extends TimingOptions<OnewriteClientBuilder> {
    private final Map<ChannelOption<?>, Object> channelOptions = new LinkedHashMap<>();
    private IntFunction<Transport> transport = Transport::preferred;
    private @Nullable Transport given;
    private int eventLoops = Math.min(4, Runtime.getRuntime().availableProcessors());
    private @Nullable SslContext sslContext;
    private @Nullable File trust;
    private @Nullable File keyChain;
    private @Nullable File key;
    private @Nullable Proxy proxy;
    private NameResolver resolver = NameResolver.SYSTEM;
    private @Nullable Executor callbackExecutor;
    private boolean decompress;
    private int maxConnections = 64;
    private int maxWaiters = 10_000;
    private Duration connectTimeout = Duration.ofSeconds(10);
    private Duration queueTimeout = Duration.ofSeconds(30);
    private Duration responseTimeout = Duration.ofSeconds(60);
    private Duration idleReadTimeout = Duration.ofSeconds(60);
    private Duration callTimeout = Duration.ZERO;
    private Duration continueTimeout = Duration.ofSeconds(1);
    private Duration idleLimit = Duration.ofSeconds(30);
    private Duration maxLifetime = Duration.ZERO;
    private int maxStatusLine = 4096;
    private int maxHeaderBytes = 32 * 1024;
    private int maxHeaders = 256;
    private int maxBody = 16 * 1024 * 1024;
    private Timekeeper time = Timekeeper.SYSTEM;
    private TlsContext.Maker jdkTls = () -> SslContextBuilder.forClient().build();

    OnewriteClientBuilder() {}

    @Override
    protected OnewriteClientBuilder self() {
        return this;
    }

    @Override
    protected Status.Base base() {
        Version netty =
                Version.identify(OnewriteClientBuilder.class.getClassLoader()).get("netty-codec-http");
        return new Status.Base("netty", netty == null ? null : netty.artifactVersion());
    }

    /**
     * A socket option. {@link ChannelOption#TCP_NODELAY} given here is used as it is, and not checked.
     */
    public <T> OnewriteClientBuilder channelOption(ChannelOption<T> option, T value) {
        channelOptions.put(option, Objects.requireNonNull(value, "value"));
        if (option.equals(ChannelOption.TCP_NODELAY)) {
            note("nodelay", "left to the caller, who sets it");
        }
        return this;
    }

    /** Threads of the client's own event loops. Default: processors, at most 4. */
    public OnewriteClientBuilder eventLoops(int threads) {
        eventLoops = positive("eventLoops", threads);
        return this;
    }

    /** Uses Java NIO. Default: epoll where its native library is on the class path, else NIO. */
    public OnewriteClientBuilder nio() {
        transport = Transport::nio;
        given = null;
        return this;
    }

    /** Uses epoll, and fails at {@link #build} where there is none. It alone can read kernel evidence. */
    public OnewriteClientBuilder epoll() {
        transport = Transport::epoll;
        given = null;
        return this;
    }

    /**
     * Uses event loops and channels of the caller's: io_uring, kqueue, loops shared with a server. They are not shut
     * down with the client.
     */
    public OnewriteClientBuilder eventLoopGroup(
            EventLoopGroup group, ChannelFactory<? extends SocketChannel> channels) {
        given = new Transport(
                Objects.requireNonNull(group, "group"), Objects.requireNonNull(channels, "channels"), false);
        return this;
    }

    /** A TLS context of the caller's, such as one on tcnative. Host names are verified whatever it says. */
    public OnewriteClientBuilder sslContext(SslContext context) {
        sslContext = Objects.requireNonNull(context, "context");
        return this;
    }

    /** Certificates to trust, in PEM, instead of the JDK's. */
    public OnewriteClientBuilder trust(Path pem) {
        trust = pem.toFile();
        return this;
    }

    /** The client's own certificate chain and its private key, in PEM. */
    public OnewriteClientBuilder key(Path chainPem, Path keyPem) {
        keyChain = chainPem.toFile();
        key = keyPem.toFile();
        return this;
    }

    /** Forward proxy for http, tunnel for https. Default none; system properties are not read. */
    public OnewriteClientBuilder proxy(@Nullable Proxy through) {
        proxy = through;
        return this;
    }

    /** Default: the system's. */
    public OnewriteClientBuilder resolver(NameResolver names) {
        resolver = Objects.requireNonNull(names, "names");
        return this;
    }

    /**
     * Where futures are completed. Default: on the event loop, so what depends on them must not block. What the executor
     * rejects is completed on the event loop all the same.
     */
    public OnewriteClientBuilder callbackExecutor(Executor executor) {
        callbackExecutor = Objects.requireNonNull(executor, "executor");
        return this;
    }

    /** Asks for gzip and deflate, and unpacks them. Default false: bodies are what was sent. */
    public OnewriteClientBuilder decompress(boolean value) {
        decompress = value;
        return this;
    }

    /** Default 64. */
    public OnewriteClientBuilder maxConnectionsPerOrigin(int connections) {
        maxConnections = positive("maxConnectionsPerOrigin", connections);
        return this;
    }

    /** Calls that may wait for a connection of an origin; further ones fail at once. Default 10000. */
    public OnewriteClientBuilder maxPendingPerOrigin(int calls) {
        if (calls < 0) {
            throw new IllegalArgumentException("maxPendingPerOrigin is to be 0 or more, not " + calls);
        }
        maxWaiters = calls;
        return this;
    }

    /**
     * For name, TCP, tunnel and TLS together. Of several addresses each gets an equal part of what is left, 2 s at
     * least, so that one that does not answer leaves time for the next. Default 10 s; zero is no limit.
     */
    public OnewriteClientBuilder connectTimeout(Duration limit) {
        connectTimeout = Durations.notNegative("connectTimeout", limit);
        return this;
    }

    /** For waiting for a free connection. Default 30 s; zero is no limit. */
    public OnewriteClientBuilder queueTimeout(Duration limit) {
        queueTimeout = Durations.notNegative("queueTimeout", limit);
        return this;
    }

    /** From the request's last byte to the end of the response's headers. Default 60 s; zero is no limit. */
    public OnewriteClientBuilder responseTimeout(Duration limit) {
        responseTimeout = Durations.notNegative("responseTimeout", limit);
        return this;
    }

    /**
     * Longest silence while a body is sent or received. While one is sent the client checks four times within this time
     * whether the socket has taken bytes, so that the call fails after up to a quarter more. Default 60 s; zero is no
     * limit.
     */
    public OnewriteClientBuilder idleReadTimeout(Duration limit) {
        idleReadTimeout = Durations.notNegative("idleReadTimeout", limit);
        return this;
    }

    /** For the whole call, resend included. Default none; a request may have its own. */
    public OnewriteClientBuilder callTimeout(Duration limit) {
        callTimeout = Durations.notNegative("callTimeout", limit);
        return this;
    }

    /** How long a body with {@code Expect: 100-continue} waits for the 100 before it is sent anyway. Default 1 s. */
    public OnewriteClientBuilder continueTimeout(Duration limit) {
        continueTimeout = Durations.positive("continueTimeout", limit);
        return this;
    }

    /**
     * How long an unused connection is kept. Default 30 s; keep it below the keep-alive of what answers. A server that
     * announces {@code Keep-Alive: timeout} is left a second earlier. Zero is no limit.
     */
    public OnewriteClientBuilder idleLimit(Duration limit) {
        idleLimit = Durations.notNegative("idleLimit", limit);
        return this;
    }

    /** How long a connection is used, less up to a tenth at random. Default zero: no limit. */
    public OnewriteClientBuilder maxLifetime(Duration limit) {
        maxLifetime = Durations.notNegative("maxLifetime", limit);
        return this;
    }

    /** Longest status line, in bytes. Default 4096. */
    public OnewriteClientBuilder maxStatusLine(int bytes) {
        maxStatusLine = positive("maxStatusLine", bytes);
        return this;
    }

    /** Size of all header fields of a response, in bytes. Default 32768. */
    public OnewriteClientBuilder maxHeaderBytes(int bytes) {
        maxHeaderBytes = positive("maxHeaderBytes", bytes);
        return this;
    }

    /** Number of header fields of a response. Default 256. */
    public OnewriteClientBuilder maxHeaders(int fields) {
        maxHeaders = positive("maxHeaders", fields);
        return this;
    }

    /** Longest body that is collected in memory, in bytes. Default 16 MiB; streamed bodies have no limit. */
    public OnewriteClientBuilder maxBody(int bytes) {
        maxBody = positive("maxBody", bytes);
        return this;
    }

    /** Another clock for all limits; the timing record keeps the system's. */
    OnewriteClientBuilder time(Timekeeper clock) {
        time = clock;
        return this;
    }

    /** Runs when the first https call needs a context of the JDK's. */
    OnewriteClientBuilder jdkTls(TlsContext.Maker maker) {
        jdkTls = maker;
        return this;
    }

    /**
     * Builds the client and its event loops.
     *
     * @throws IllegalStateException when the TLS material cannot be used, or the transport is not available
     */
    public OnewriteClient build() {
        applied();
        TlsContext tls = tls();
        Transport chosen = given == null ? transport.apply(eventLoops) : given;
        ClientSettings settings = new ClientSettings(
                switches(),
                Map.copyOf(channelOptions),
                tls,
                time,
                proxy,
                new Lookups(resolver),
                callbackExecutor,
                decompress,
                maxConnections,
                maxWaiters,
                Durations.nanos(connectTimeout),
                Durations.nanos(queueTimeout),
                Durations.nanos(responseTimeout),
                Durations.nanos(idleReadTimeout),
                Durations.nanos(callTimeout),
                Durations.nanos(continueTimeout),
                Durations.nanos(idleLimit),
                Durations.nanos(maxLifetime),
                maxStatusLine,
                maxHeaderBytes,
                maxHeaders,
                maxBody);
        return new OnewriteClient(settings, chosen, OnewriteNetty.create(this));
    }

    private TlsContext tls() {
        if (sslContext != null) {
            if (trust != null || key != null) {
                throw new IllegalStateException("give either an SslContext or trust and key, not both");
            }
            SslContext given = sslContext;
            return new TlsContext(() -> given);
        }
        if (trust == null && key == null) {
            return new TlsContext(jdkTls);
        }
        try {
            SslContextBuilder builder = SslContextBuilder.forClient();
            if (trust != null) {
                builder.trustManager(trust);
            }
            if (key != null) {
                builder.keyManager(keyChain, key);
            }
            SslContext built = builder.build();
            return new TlsContext(() -> built);
        } catch (SSLException | IllegalArgumentException e) {
            throw new IllegalStateException("the TLS material cannot be used: " + e.getMessage(), e);
        }
    }

    private static int positive(String name, int value) {
        if (value < 1) {
            throw new IllegalArgumentException(name + " is to be 1 or more, not " + value);
        }
        return value;
    }
}
