package io.github.onewrite.netty;

import io.github.onewrite.ErrorKind;
import io.github.onewrite.OnewriteConfig;
import io.github.onewrite.Status;
import io.github.onewrite.TimingOptions;
import io.github.onewrite.internal.ErrorKinds;
import io.github.onewrite.internal.HookQueue;
import io.github.onewrite.internal.Hooks;
import io.github.onewrite.internal.Setup;
import io.github.onewrite.internal.SocketCounts;
import io.github.onewrite.internal.TimedCall;
import io.netty.bootstrap.Bootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelOption;
import io.netty.channel.ChannelPipeline;
import io.netty.channel.EventLoop;
import io.netty.channel.pool.ChannelPoolHandler;
import io.netty.util.AttributeKey;
import io.netty.util.Version;
import java.util.Map;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.Function;
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
 * CONNECT and an upgrade are not timed so. Answers belong to requests in order, so pipelined requests are timed, too; the
 * kernel's evidence is that of requests that are alone on their connection. Set the options before the first use.
 */
public final class OnewriteNetty extends TimingOptions<OnewriteNetty> {
    /** On the channels of a bootstrap that this was applied to: whether TCP_NODELAY is checked. */
    private static final AttributeKey<Boolean> NODELAY = AttributeKey.valueOf(OnewriteNetty.class, "nodelay");

    private @Nullable Hooks hooks;

    private final Setup setup;

    private OnewriteNetty(Setup setup) {
        super(setup);
        this.setup = setup;
    }

    /** Starts with the switches of system properties and environment. */
    public static OnewriteNetty create() {
        return new OnewriteNetty(new Setup(OnewriteNetty::base));
    }

    /** Starts with the switches and hooks of another customizer. For adapters. */
    @SuppressWarnings("exports")
    public static OnewriteNetty of(Setup setup) {
        return new OnewriteNetty(setup.copy());
    }

    /** Netty, and its version. For adapters. */
    public static Status.Base base() {
        Version netty = Version.identify(OnewriteNetty.class.getClassLoader()).get("netty-codec-http");
        return new Status.Base("netty", netty == null ? null : netty.artifactVersion());
    }

    OnewriteConfig switchesNow() {
        return setup.switches();
    }

    /**
     * Sets TCP_NODELAY on each connection of a bootstrap before the first byte. A bootstrap that names the option already
     * is obeyed. The option is read back on connections whose pipeline or pool handler this is applied to: {@link #status}
     * counts those without it.
     *
     * @return the same bootstrap
     */
    public Bootstrap apply(Bootstrap bootstrap) {
        if (setup.switches().disabled() || bootstrap.config().attrs().containsKey(NODELAY)) {
            return bootstrap;
        }
        setup.applied();
        boolean named = bootstrap.config().options().containsKey(ChannelOption.TCP_NODELAY);
        boolean nodelay = setup.switches().guardsNodelay() && !named;
        if (nodelay) {
            bootstrap.option(ChannelOption.TCP_NODELAY, true);
        } else if (named) {
            setup.note("nodelay", "left to the bootstrap, which sets it itself");
        }
        return bootstrap.attr(NODELAY, nodelay);
    }

    /**
     * Puts the handlers around the HTTP/1.1 codec of a pipeline: an HttpClientCodec, or an encoder and a decoder. TLS and
     * the codec may be there already, or come later: AWS SDK v2 and Armeria add them after this. A pipeline that gets no
     * such codec, as with HTTP/2, stays as it is, and {@link #status} counts it. So does one that this was applied to.
     *
     * @return the same pipeline
     */
    public ChannelPipeline apply(ChannelPipeline pipeline) {
        if (!setup.switches().disabled()) {
            setup.applied();
            placeOrAwait(attached(pipeline.channel()), pipeline);
        }
        return pipeline;
    }

    private void placeOrAwait(NettyConnection connection, ChannelPipeline pipeline) {
        for (Map.Entry<String, ChannelHandler> each : pipeline) {
            // By name: Netty's proxy handlers are an optional dependency.
            if (each.getValue().getClass().getSuperclass().getName().equals("io.netty.handler.proxy.ProxyHandler")) {
                connection.tunnel(each.getKey());
            }
        }
        if (!connection.place(this, false) && pipeline.get(CodecAwaiter.NAME) == null) {
            pipeline.addFirst(CodecAwaiter.NAME, new CodecAwaiter(connection, this, setup.counts()));
        }
    }

    /**
     * Wraps the handler of a channel pool: the pipeline of each channel that the pool makes is prepared as by
     * {@link #apply(ChannelPipeline)}. The time between release and reuse is in the record.
     */
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
            NettyConnection connection = attached(channel);
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
    }

    private NettyConnection attached(Channel channel) {
        NettyConnection known = NettyConnection.of(channel);
        if (known != null) {
            return known;
        }
        SocketCounts nodelay = Boolean.TRUE.equals(channel.attr(NODELAY).get()) ? setup.counts() : null;
        NettyConnection connection =
                NettyConnection.attach(channel, null, nodelay, any -> null, NettyConnection.Ends.WITH_RESPONSE);
        connection.begins(this);
        return connection;
    }

    /** Whether a call that begins now is timed: a hook is set. */
    public boolean wanted() {
        return ready().wanted();
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
        return begin(method, url, "", tag, null);
    }

    /**
     * @param target completes the URL
     * @param loop takes the steps of the call; null where it is not known yet
     */
    Call begin(String method, String url, String target, @Nullable Object tag, @Nullable EventLoop loop) {
        TimedCall timed = TimedCall.start(ready(), method, url, target, tag);
        if (timed == null) {
            return Call.UNTIMED;
        }
        timed.attempt(timed.startedAtMonoNanos());
        return new Call(timed, this, loop);
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

    /** A step of a call, at a time of {@link System#nanoTime}. */
    @FunctionalInterface
    public interface Step {
        void take(TimedCall call, long at);
    }

    /**
     * A call that is timed, if a hook is set. Its methods may be called from any thread: the event loop of the call's
     * first channel takes its steps, and before there is one, the thread that brings them.
     */
    public static final class Call {
        static final Call UNTIMED = new Call(null, null, null);

        private final @Nullable TimedCall timed;
        private final @Nullable OnewriteNetty onewrite;

        /** Orders the steps until the loop is known. */
        private final @Nullable HookQueue queue;

        private volatile @Nullable EventLoop loop;

        private Call(@Nullable TimedCall timed, @Nullable OnewriteNetty onewrite, @Nullable EventLoop loop) {
            this.timed = timed;
            this.onewrite = onewrite;
            this.loop = loop;
            this.queue = timed == null || loop != null ? null : new HookQueue();
        }

        boolean isTimed() {
            return timed != null;
        }

        /** Whether the events of the call are listened to. */
        boolean listens() {
            return timed != null && timed.wantsWrite();
        }

        /** The first loop stays: another attempt may run on another one, whose steps are posted. */
        void carriedBy(EventLoop first) {
            if (queue != null && loop == null) {
                queue.run(() -> loop = loop == null ? first : loop);
            }
        }

        /**
         * The channel serves the call from now on. Its request is to be written after this. The call ends with the last
         * content of the response, with the channel, or by {@link #failed}. A channel that does not speak HTTP/1.1 ends no
         * call: report its end by {@link #completed} or {@link #failed}.
         *
         * @return this call
         */
        public Call on(Channel channel) {
            NettyConnection connection = onewrite == null ? NettyConnection.of(channel) : onewrite.attached(channel);
            if (connection == null) {
                return this;
            }
            if (channel.eventLoop().inEventLoop()) {
                serveBy(connection);
                return this;
            }
            try {
                channel.eventLoop().execute(() -> serveBy(connection));
            } catch (RejectedExecutionException e) {
                // The loop is shut down: the request is written in vain.
                failed(e);
            }
            return this;
        }

        private void serveBy(NettyConnection connection) {
            if (onewrite != null) {
                connection.place(onewrite, false);
            }
            connection.serve(this);
        }

        /** The call is answered. Ignored once it has ended. */
        public void completed() {
            step(TimedCall::completed);
        }

        /** The call failed. Ignored once it has ended. */
        public void failed(Throwable error) {
            failed(error, NettyErrors::kindOf);
        }

        /**
         * The call failed. Ignored once it has ended.
         *
         * @param own the kind of an error of the client, or null
         */
        public void failed(Throwable error, Function<Throwable, @Nullable ErrorKind> own) {
            ErrorKind kind = ErrorKinds.of(error, own);
            step((call, at) -> call.failed(at, kind, error));
        }

        /** The caller gave up. Ignored once the call has ended. */
        public void cancelled() {
            step(TimedCall::cancelled);
        }

        /** Takes another step, which happens now: the start or end of a phase or of an attempt. */
        public void step(Step step) {
            if (timed != null) {
                step(System.nanoTime(), step);
            }
        }

        /** Takes a step, which happened at this time. */
        public void step(long at, Step step) {
            step(null, at, step);
        }

        /** @param exchange whose attempt the step belongs to: it is ignored when that is over */
        void step(@Nullable Exchange exchange, long at, Step step) {
            TimedCall call = timed;
            EventLoop by = loop;
            if (call == null) {
                return;
            }
            if (by == null) {
                if (queue != null) {
                    queue.run(() -> stepInOrder(call, exchange, at, step));
                }
            } else if (by.inEventLoop()) {
                take(call, exchange, at, step);
            } else {
                try {
                    by.execute(() -> take(call, exchange, at, step));
                } catch (RejectedExecutionException e) {
                    // The loop is shut down: it takes no step any more.
                    take(call, exchange, at, step);
                }
            }
        }

        /** The loop may have become known while the step waited. */
        private void stepInOrder(TimedCall call, @Nullable Exchange exchange, long at, Step step) {
            if (loop == null) {
                take(call, exchange, at, step);
            } else {
                step(exchange, at, step);
            }
        }

        private static void take(TimedCall call, @Nullable Exchange exchange, long at, Step step) {
            if (exchange == null || exchange.isUnderWay(call)) {
                step.take(call, at);
            }
        }
    }
}
