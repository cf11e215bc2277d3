package io.github.onewrite.netty.internal;

import io.github.onewrite.OnewriteConfig;
import io.github.onewrite.Status;
import io.github.onewrite.internal.Hooks;
import io.github.onewrite.internal.Setup;
import io.github.onewrite.internal.TimedCall;
import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.BootstrapConfig;
import io.netty.channel.Channel;
import io.netty.channel.ChannelOption;
import io.netty.channel.ChannelPipeline;
import io.netty.channel.EventLoop;
import io.netty.channel.pool.ChannelPoolHandler;
import io.netty.resolver.NoopAddressResolverGroup;
import io.netty.util.AttributeKey;
import io.netty.util.Version;
import java.net.InetSocketAddress;
import org.jspecify.annotations.Nullable;

/** What a customizer does with bootstraps, pipelines and pools, and the calls that it begins. */
public final class NettySetup {
    /** On the channels of a bootstrap that was customized: whether TCP_NODELAY is checked. */
    private static final AttributeKey<Boolean> NODELAY = AttributeKey.valueOf(NettySetup.class, "nodelay");

    /** The name that the channels of such a bootstrap look up. */
    private static final AttributeKey<String> HOST = AttributeKey.valueOf(NettySetup.class, "host");

    private final Setup setup;

    /** Whether the client ends its calls; else the answer's last content or the close of the channel. */
    final boolean endedByClient;

    /**
     * Whether a connection is made for the request that it carries first, whose call so began with the connect; a CONNECT
     * that goes before it is part of that.
     */
    final boolean begunByConnect;

    private @Nullable Hooks hooks;

    /** Of a customizer, whose further changes count until its first call. */
    public NettySetup(Setup setup, boolean endedByClient) {
        this(setup, endedByClient, false);
    }

    /** The same for a client that may make a connection for each request. */
    public NettySetup(Setup setup, boolean endedByClient, boolean begunByConnect) {
        this.setup = setup;
        this.endedByClient = endedByClient;
        this.begunByConnect = begunByConnect;
    }

    /** The present switches and hooks of a customizer of Netty. */
    public static Setup create() {
        return new Setup(NettySetup::base);
    }

    private static Status.Base base() {
        Version netty = Version.identify(NettySetup.class.getClassLoader()).get("netty-codec-http");
        return new Status.Base("netty", netty == null ? null : netty.artifactVersion());
    }

    /** An address as records show it. */
    public static String hostAndPort(String host, int port) {
        return (host.indexOf(':') < 0 ? host : "[" + host + "]") + ":" + port;
    }

    OnewriteConfig switches() {
        return setup.switches();
    }

    /** See {@code OnewriteNetty.apply}. With Netty's resolver of nothing, as for a tunnel, no name is looked up. */
    public Bootstrap apply(Bootstrap bootstrap) {
        BootstrapConfig config = bootstrap.config();
        boolean resolves = !NoopAddressResolverGroup.INSTANCE.equals(config.resolver());
        if (resolves && config.remoteAddress() instanceof InetSocketAddress remote && remote.isUnresolved()) {
            return apply(bootstrap, remote.getHostString());
        }
        return apply(bootstrap, "");
    }

    /**
     * The same for a bootstrap whose client has the name.
     *
     * @param host the name that is looked up for each connection, or the empty string
     */
    public Bootstrap apply(Bootstrap bootstrap, String host) {
        if (setup.switches().disabled() || bootstrap.config().attrs().containsKey(NODELAY)) {
            return bootstrap;
        }
        setup.applied();
        boolean named = bootstrap.config().options().containsKey(ChannelOption.TCP_NODELAY);
        boolean nodelay = setup.switches().guardsNodelay() && !named;
        if (named) {
            setup.note("nodelay", "left to the bootstrap, which sets it itself");
        }
        if (!host.isEmpty()) {
            bootstrap.attr(HOST, host);
        }
        return bootstrap.attr(NODELAY, nodelay);
    }

    /** See {@code OnewriteNetty.apply}. */
    public ChannelPipeline apply(ChannelPipeline pipeline) {
        if (!setup.switches().disabled()) {
            setup.applied();
            NettyConnection connection = attached(pipeline.channel());
            if (!connection.place() && pipeline.get(CodecAwaiter.NAME) == null) {
                pipeline.addFirst(CodecAwaiter.NAME, new CodecAwaiter(connection, setup.notJoined));
            }
        }
        return pipeline;
    }

    /** See {@code OnewriteNetty.wrap}. */
    public ChannelPoolHandler wrap(ChannelPoolHandler handler) {
        if (setup.switches().disabled() || handler instanceof Wrapped) {
            return handler;
        }
        setup.applied();
        return new Wrapped(handler);
    }

    private final class Wrapped implements ChannelPoolHandler {
        private final ChannelPoolHandler handler;

        Wrapped(ChannelPoolHandler handler) {
            this.handler = handler;
        }

        @Override
        public void channelCreated(Channel channel) throws Exception {
            attached(channel); // for the handler, too
            handler.channelCreated(channel);
            apply(channel.pipeline());
        }

        @Override
        public void channelAcquired(Channel channel) throws Exception {
            handler.channelAcquired(channel);
        }

        @Override
        public void channelReleased(Channel channel) throws Exception {
            NettyConnection connection = NettyConnection.of(channel);
            if (connection != null) {
                connection.freed();
            }
            handler.channelReleased(channel);
        }
    }

    /** The connection of a channel; its answers end its calls. */
    public NettyConnection attached(Channel channel) {
        NettyConnection known = NettyConnection.of(channel);
        if (known != null) {
            return known;
        }
        String host = channel.hasAttr(HOST) ? channel.attr(HOST).get() : "";
        boolean nodelay = channel.hasAttr(NODELAY) && channel.attr(NODELAY).get();
        NettyConnection connection =
                NettyConnection.attach(channel, this, host, nodelay ? setup.withoutNodelay : null, any -> null);
        if (!host.isEmpty()) {
            connection.connect.resolving();
        }
        return connection;
    }

    /** Whether a call that begins now is timed: a hook is set. */
    public boolean wanted() {
        return ready().wanted();
    }

    /**
     * Begins a call that has no connection yet.
     *
     * @param tag handed to listener factories and found in the record, or null
     */
    public Exchange begin(String method, String url, @Nullable Object tag) {
        return begin(method, url, "", tag, null, System.nanoTime());
    }

    /**
     * The same at some moment before.
     *
     * @param target completes the URL
     * @param loop takes the steps of the call; null where it is not known yet
     */
    Exchange begin(String method, String url, String target, @Nullable Object tag, @Nullable EventLoop loop, long at) {
        TimedCall timed = TimedCall.start(ready(), method, url, target, tag, at);
        if (timed == null) {
            return Exchange.UNTIMED;
        }
        timed.attempt(at);
        return new Exchange(timed, loop);
    }

    /** The hooks, made once: a call copies nothing. */
    private Hooks ready() {
        Hooks made = hooks;
        if (made == null) {
            made = setup.hooks();
            hooks = made;
        }
        return made;
    }
}
