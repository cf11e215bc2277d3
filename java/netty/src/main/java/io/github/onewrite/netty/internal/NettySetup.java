package io.github.onewrite.netty.internal;

import io.github.onewrite.OnewriteConfig;
import io.github.onewrite.Status;
import io.github.onewrite.internal.Setup;
import io.github.onewrite.internal.Stamps;
import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.BootstrapConfig;
import io.netty.channel.Channel;
import io.netty.channel.ChannelOption;
import io.netty.channel.ChannelPipeline;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.pool.ChannelPool;
import io.netty.channel.pool.ChannelPoolHandler;
import io.netty.channel.socket.SocketChannel;
import io.netty.resolver.NoopAddressResolverGroup;
import io.netty.util.AttributeKey;
import io.netty.util.NetUtil;
import io.netty.util.Version;
import io.netty.util.concurrent.EventExecutorGroup;
import io.netty.util.concurrent.ImmediateEventExecutor;
import java.net.InetSocketAddress;
import org.jspecify.annotations.Nullable;

/** Prepares bootstraps, pipelines and pools for a customizer. */
public final class NettySetup {
    /**
     * On the channels that were prepared: their connection, or this where they are not timed. The key is that of each copy of
     * these classes, so a value may be another copy's.
     */
    static final AttributeKey<Object> KEY = AttributeKey.valueOf("io.github.onewrite");

    /** On the channels of a bootstrap that was customized, and names no TCP_NODELAY. */
    public static final AttributeKey<Boolean> NODELAY = AttributeKey.valueOf("io.github.onewrite.nodelay");

    /** On the channels of such a bootstrap that looks a name up before it connects. */
    private static final AttributeKey<Boolean> LOOKS_UP = AttributeKey.valueOf("io.github.onewrite.lookup");

    private final Setup setup;
    final boolean reports;

    /** Of the last bootstrap. */
    private volatile @Nullable EventLoopGroup group;

    /** For a client that reports a channel that closes to its program. */
    public NettySetup(Setup setup) {
        this(setup, false);
    }

    /** @param reports whether a write that fails after its promise was answered is reported to the pipeline */
    public NettySetup(Setup setup, boolean reports) {
        this.setup = setup;
        this.reports = reports;
    }

    /** The present switches and hooks of a customizer of Netty. */
    public static Setup create() {
        return new Setup(NettySetup::base);
    }

    private static Status.Base base() {
        Version netty = Version.identify(NettySetup.class.getClassLoader()).get("netty-codec-http");
        return new Status.Base("netty", netty == null ? null : netty.artifactVersion());
    }

    OnewriteConfig switches() {
        return setup.switches();
    }

    void deliver(Stamps ended) {
        setup.hooks().deliver(ended);
    }

    /** A connection whose writes are not joined. */
    void notJoined() {
        setup.notJoined.incrementAndGet();
    }

    /** See {@code OnewriteNetty.apply}. */
    public Bootstrap apply(Bootstrap bootstrap) {
        if (switches().disabled()) {
            return bootstrap;
        }
        setup.applied();
        BootstrapConfig config = bootstrap.config();
        group = config.group();
        if (config.options().containsKey(ChannelOption.TCP_NODELAY)) {
            setup.note("nodelay", "left to the bootstrap, which sets it itself");
        } else if (switches().changesWire()) {
            bootstrap.attr(NODELAY, true);
        }
        if (config.remoteAddress() instanceof InetSocketAddress remote
                && remote.isUnresolved()
                && !NetUtil.isValidIpV4Address(remote.getHostString())
                && !NetUtil.isValidIpV6Address(remote.getHostString())
                && config.resolver() != NoopAddressResolverGroup.INSTANCE) {
            bootstrap.attr(LOOKS_UP, true);
        }
        return bootstrap;
    }

    /** See {@code OnewriteNetty.apply}. */
    public ChannelPipeline apply(ChannelPipeline pipeline) {
        Channel channel = pipeline.channel();
        boolean joins = switches().changesWire() && channel instanceof SocketChannel;
        boolean times = setup.times();
        setup.applied();
        if (!(joins || times)) {
            return pipeline;
        }
        Object known = channel.attr(KEY).get();
        if (known != null) {
            if (!(known instanceof NettyConnection || known instanceof NettySetup)) {
                Setup.otherCopy();
            }
            return pipeline;
        }
        if (joins) {
            ensureNodelay(channel);
        }
        if (times) {
            NettyConnection connection = new NettyConnection(this, channel);
            channel.attr(KEY).set(connection);
            if (channel.hasAttr(LOOKS_UP)) {
                connection.lookingUp();
            }
        } else {
            channel.attr(KEY).set(this);
        }
        Placement.placeOrWait(this, pipeline);
        return pipeline;
    }

    /**
     * Netty turns the option on for each socket and swallows a failure (DefaultSocketChannelConfig), and a channel factory may
     * bring another configuration. An option that the bootstrap does not name is the program's own choice nowhere.
     */
    private void ensureNodelay(Channel channel) {
        if (!isNodelay(channel)) {
            if (channel.hasAttr(NODELAY)) {
                channel.config().setOption(ChannelOption.TCP_NODELAY, true);
            }
            if (!isNodelay(channel)) {
                setup.withoutNodelay.incrementAndGet();
            }
        }
    }

    private static boolean isNodelay(Channel channel) {
        return Boolean.TRUE.equals(channel.config().getOption(ChannelOption.TCP_NODELAY));
    }

    /** See {@code OnewriteNetty.wrap}. */
    public ChannelPoolHandler wrap(ChannelPoolHandler handler) {
        if (switches().disabled()) {
            return handler;
        }
        setup.applied();
        return new ChannelPoolHandler() {
            @Override
            public void channelCreated(Channel channel) throws Exception {
                handler.channelCreated(channel);
                apply(channel.pipeline());
            }

            @Override
            public void channelAcquired(Channel channel) throws Exception {
                handler.channelAcquired(channel);
            }

            @Override
            public void channelReleased(Channel channel) throws Exception {
                handler.channelReleased(channel);
            }
        };
    }

    /** See {@code OnewriteNetty.wrap}. */
    public ChannelPool wrap(ChannelPool pool, String origin) {
        EventExecutorGroup executors = group == null ? ImmediateEventExecutor.INSTANCE : group;
        return setup.times() ? new TimedPool(pool, origin, this, executors) : pool;
    }
}
