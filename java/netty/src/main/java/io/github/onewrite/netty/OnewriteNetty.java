package io.github.onewrite.netty;

import io.github.onewrite.OnewriteConfig;
import io.github.onewrite.Status;
import io.github.onewrite.TimingOptions;
import io.github.onewrite.spi.CallTimer;
import io.github.onewrite.spi.Hooks;
import io.github.onewrite.spi.TimedCall;
import io.netty.bootstrap.Bootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.ChannelPipeline;
import io.netty.channel.pool.ChannelPoolHandler;
import io.netty.util.AttributeKey;
import io.netty.util.Version;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Makes the HTTP/1.1 requests of a Netty pipeline leave in one write, checks TCP_NODELAY, and times calls.
 *
 * <pre>{@code
 * OnewriteNetty onewrite = OnewriteNetty.create().onTiming(System.out::println);
 * onewrite.apply(bootstrap);
 * ChannelPool pool = new FixedChannelPool(bootstrap, onewrite.wrap(handler), 8);
 *
 * OnewriteNetty.Call call = onewrite.begin("POST", url);
 * Channel channel = pool.acquire().get();
 * call.on(channel);
 * channel.writeAndFlush(request);
 * }</pre>
 *
 * <p>Netty sends what is flushed. A head that is flushed before its body, as AWS SDK v2 and Armeria do, is two segments.
 * With this, what is written within 2 ms of the head leaves with it, up to {@link OnewriteConfig#coalesceMax}, and at once
 * when the request is complete.
 *
 * <p>A request that no call was begun for begins one when its head is written: its record has no queue, DNS, connect or TLS.
 * CONNECT, an upgrade, and the first request after ALPN are not timed so.
 *
 * <p>A channel carries one request at a time; pipelined requests are not timed. Set the options before the first use.
 */
public final class OnewriteNetty extends TimingOptions<OnewriteNetty> {
    /** On the channels of a bootstrap that this was applied to: whether TCP_NODELAY is checked. */
    private static final AttributeKey<Boolean> NODELAY = AttributeKey.valueOf(OnewriteNetty.class, "nodelay");

    private final AtomicInteger unreached = new AtomicInteger();
    private @Nullable Hooks hooks;

    private OnewriteNetty() {}

    /** Starts with the switches of system properties and environment. */
    public static OnewriteNetty create() {
        return new OnewriteNetty();
    }

    /** Starts with the switches and hooks of another customizer, which counts the failures of its hooks. */
    public static OnewriteNetty create(TimingOptions<?> options) {
        return new OnewriteNetty().like(options);
    }

    @Override
    protected Status.Base base() {
        Version netty = Version.identify(OnewriteNetty.class.getClassLoader()).get("netty-codec-http");
        return new Status.Base("netty", netty == null ? null : netty.artifactVersion());
    }

    @Override
    protected OnewriteNetty self() {
        return this;
    }

    @Override
    public Status status() {
        int without = unreached.get();
        note("coalesce", without == 0 ? "on" : "on, but channels without an HttpClientCodec so far: " + without);
        return super.status();
    }

    /**
     * Sets TCP_NODELAY on each connection of a bootstrap, reads it back before the first byte, and refuses a connection
     * without it. A bootstrap that names the option already is obeyed. Call it after the bootstrap has its handler.
     *
     * @return the same bootstrap
     */
    public Bootstrap apply(Bootstrap bootstrap) {
        if (switches().disabled()) {
            return bootstrap;
        }
        applied();
        boolean nodelay =
                switches().guardsNodelay() && !bootstrap.config().options().containsKey(ChannelOption.TCP_NODELAY);
        if (nodelay) {
            bootstrap.option(ChannelOption.TCP_NODELAY, true);
        } else {
            note("nodelay", "left to the bootstrap, which sets it itself");
        }
        bootstrap.attr(NODELAY, nodelay);
        ChannelHandler handler = bootstrap.config().handler();
        return bootstrap.handler(new ChannelInitializer<Channel>() {
            @Override
            protected void initChannel(Channel channel) {
                attached(channel).times(OnewriteNetty.this);
                if (handler != null) {
                    channel.pipeline().addLast(handler);
                }
            }
        });
    }

    /**
     * Puts the handlers around the HTTP/1.1 codec of a pipeline: an HttpClientCodec, or an encoder and a decoder. TLS and
     * the codec may be there already, or come later: AWS SDK v2 and Armeria add them after this. A pipeline that gets no
     * such codec, as with HTTP/2, stays as it is, and {@link #status} counts it.
     *
     * @return the same pipeline
     */
    public ChannelPipeline apply(ChannelPipeline pipeline) {
        if (!switches().disabled()) {
            applied();
            NettyConnection connection = attached(pipeline.channel());
            connection.times(this);
            placeOrAwait(connection, pipeline);
        }
        return pipeline;
    }

    private void placeOrAwait(NettyConnection connection, ChannelPipeline pipeline) {
        if (!connection.place(switches(), false) && pipeline.get(CodecAwaiter.NAME) == null) {
            pipeline.addFirst(CodecAwaiter.NAME, new CodecAwaiter(connection, switches(), unreached));
        }
    }

    /**
     * Wraps the handler of a channel pool: the pipeline of each channel that the pool makes is prepared as by
     * {@link #apply(ChannelPipeline)}. The time between release and reuse is in the record.
     */
    public ChannelPoolHandler wrap(ChannelPoolHandler handler) {
        if (switches().disabled()) {
            return handler;
        }
        applied();
        return new ChannelPoolHandler() {
            @Override
            public void channelCreated(Channel channel) throws Exception {
                NettyConnection connection = attached(channel);
                connection.times(OnewriteNetty.this);
                handler.channelCreated(channel);
                placeOrAwait(connection, channel.pipeline());
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
        };
    }

    private static NettyConnection attached(Channel channel) {
        NettyConnection known = NettyConnection.of(channel);
        if (known != null) {
            return known;
        }
        boolean nodelay = Boolean.TRUE.equals(channel.attr(NODELAY).get());
        NettyConnection made = NettyConnection.attach(channel, null, nodelay, any -> null);
        made.endCallsWithResponse();
        return made;
    }

    /** Whether a call that begins now is timed: a hook is set, or a flight recording wants its event. */
    public boolean wanted() {
        return ready().wanted();
    }

    /** Whether a listener is set. */
    public boolean listens() {
        return ready().listens();
    }

    /**
     * Begins a call that has no connection yet. Call {@link Call#on} when it has one: the time until then is in its queue,
     * connect and TLS phases.
     *
     * @param url as records and listeners show it; credentials in it are left out
     */
    public Call begin(String method, String url) {
        return begin(method, url, null);
    }

    /**
     * Begins a call that has no connection yet.
     *
     * @param tag handed to listener factories and found in the record, or null
     */
    public Call begin(String method, String url, @Nullable Object tag) {
        Hooks ready = ready();
        TimedCall timed = ready.wanted() ? TimedCall.start(ready, method, url, tag) : null;
        return timed == null ? Call.UNTIMED : new Call(timed, switches());
    }

    /**
     * Begins a call on a channel, which sends its request next. It ends with the last content of the response, with the
     * channel, or by {@link Call#failed}.
     */
    public Call begin(Channel channel, String method, String url) {
        return begin(method, url, null).on(channel);
    }

    /** The hooks, made once: a call copies nothing. */
    private Hooks ready() {
        Hooks made = hooks;
        if (made == null) {
            made = hooks();
            hooks = made;
        }
        return made;
    }

    /** A call that is timed, if a hook wants that. Its methods may be called from any thread. */
    public static final class Call {
        private static final Call UNTIMED = new Call(null, OnewriteConfig.defaults());

        private final @Nullable TimedCall timed;
        private final OnewriteConfig config;

        private Call(@Nullable TimedCall timed, OnewriteConfig config) {
            this.timed = timed;
            this.config = config;
        }

        @Nullable
        TimedCall timed() {
            return timed;
        }

        /**
         * The channel serves the call from now on. Its request is to be written after this. A channel that does not speak
         * HTTP/1.1 ends no call: report its end by {@link #completed} or {@link #failed}.
         *
         * @return this call
         */
        public Call on(Channel channel) {
            NettyConnection connection = timed == null ? NettyConnection.of(channel) : attached(channel);
            if (connection == null) {
                return this;
            }
            if (channel.eventLoop().inEventLoop()) {
                serveBy(connection);
            } else {
                channel.eventLoop().execute(() -> serveBy(connection));
            }
            return this;
        }

        private void serveBy(NettyConnection connection) {
            if (timed != null) {
                connection.place(config, false);
            }
            connection.serve(this);
        }

        /** An attempt begins, unless one is under way. */
        public void attempt() {
            if (timed != null) {
                timed.attempt();
            }
        }

        /** The attempt is over and the call goes on: redirected or challenged when it was answered, else lost. */
        public void left() {
            if (timed != null) {
                timed.left();
            }
        }

        /** The call waits for a connection to become free. */
        public void queueStart() {
            step(CallTimer::queueStart);
        }

        /** The wait for a free connection is over. */
        public void queueEnd() {
            step(CallTimer::queueEnd);
        }

        /** Resolving the name begins. */
        public void dnsStart(String host) {
            step(timer -> timer.dnsStart(host));
        }

        /** The name is resolved. A failed lookup is not reported: {@link #failed} ends it. */
        public void dnsEnd() {
            step(timer -> timer.dnsEnd(null));
        }

        /** The TCP connect begins. */
        public void connectStart() {
            step(CallTimer::connectStart);
        }

        /** The TCP connection is established. */
        public void connectEnd() {
            step(timer -> timer.connectEnd(null));
        }

        /** The TLS handshake begins. */
        public void tlsStart() {
            step(CallTimer::tlsStart);
        }

        /** The TLS handshake ended. */
        public void tlsEnd() {
            step(timer -> timer.tlsEnd(null));
        }

        /** The attempt gave its connection back. */
        public void released(boolean reusable) {
            step(timer -> timer.connectionReleased(reusable));
        }

        private void step(Consumer<CallTimer> step) {
            if (timed != null) {
                timed.step(step);
            }
        }

        /** The call is answered. Ignored once it has ended. */
        public void completed() {
            if (timed != null) {
                timed.completed();
            }
        }

        /**
         * The call was answered at this time.
         *
         * @param nanoTime when, by {@link System#nanoTime}
         */
        public void completed(long nanoTime) {
            if (timed != null) {
                timed.completed(nanoTime);
            }
        }

        /** The call failed. Ignored once it has ended. */
        public void failed(Throwable error) {
            if (timed != null) {
                timed.failed(error);
            }
        }

        /** The caller gave up. Ignored once the call has ended. */
        public void cancelled() {
            if (timed != null) {
                timed.cancelled();
            }
        }
    }
}
