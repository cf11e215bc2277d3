package io.github.onewrite.netty;

import io.github.onewrite.OnewriteConfig;
import io.github.onewrite.TimingOptions;
import io.github.onewrite.internal.Setup;
import io.github.onewrite.netty.internal.Exchange;
import io.github.onewrite.netty.internal.NettyConnection;
import io.github.onewrite.netty.internal.NettyErrors;
import io.github.onewrite.netty.internal.NettySetup;
import io.netty.bootstrap.Bootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelPipeline;
import io.netty.channel.pool.ChannelPoolHandler;
import java.util.concurrent.RejectedExecutionException;
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
 * With this, what is written in the same turn of the event loop leaves with the head, up to
 * {@link OnewriteConfig#coalesceMax}.
 *
 * <p>A request that no call was begun for begins one when its head is written: its record has no queue, DNS, connect or TLS.
 * CONNECT and an upgrade are not timed so. Answers belong to requests in order, so pipelined requests are timed, too; the
 * kernel's evidence is that of requests that are alone on their connection. Set the options before the first use.
 */
public final class OnewriteNetty extends TimingOptions<OnewriteNetty> {
    private final NettySetup netty;

    private OnewriteNetty(Setup setup) {
        super(setup);
        this.netty = new NettySetup(setup, false);
    }

    /** Starts with the switches of system properties and environment. */
    public static OnewriteNetty create() {
        return new OnewriteNetty(NettySetup.create());
    }

    /**
     * Checks TCP_NODELAY on each TCP connection of a bootstrap, whose pipeline or pool handler this is applied to, before
     * the first byte. Netty sets the option by default, and swallows a failure: it is read back, set once more, and
     * {@link #status} counts the connections without it. A bootstrap that names the option itself is obeyed. The lookup of a remote address that the bootstrap has is timed on such connections.
     *
     * @return the same bootstrap
     */
    public Bootstrap apply(Bootstrap bootstrap) {
        return netty.apply(bootstrap);
    }

    /**
     * Puts the handlers around the HTTP/1.1 codec of a pipeline: an HttpClientCodec, or an encoder and a decoder. TLS and
     * the codec may be there already, or come later: AWS SDK v2 and Armeria add them after this. A pipeline that gets no
     * such codec, as with HTTP/2, stays as it is, and {@link #status} counts it. So does one that this was applied to.
     *
     * @return the same pipeline
     */
    public ChannelPipeline apply(ChannelPipeline pipeline) {
        return netty.apply(pipeline);
    }

    /**
     * Wraps the handler of a channel pool: the pipeline of each channel that the pool makes is prepared as by
     * {@link #apply(ChannelPipeline)}. The time between release and reuse is in the record.
     */
    public ChannelPoolHandler wrap(ChannelPoolHandler handler) {
        return netty.wrap(handler);
    }

    /**
     * Begins a call that has no connection yet. Call {@link Call#on} when it has one: the time until then is in its queue,
     * DNS, connect and TLS phases.
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
        return netty.wanted() ? new Call(netty, netty.begin(method, url, tag)) : Call.UNTIMED;
    }

    /**
     * A call that is timed, if a hook is set. Its methods may be called from any thread: the event loop of the call's
     * first channel takes its steps.
     */
    public static final class Call {
        private static final Call UNTIMED = new Call(null, Exchange.UNTIMED);

        private final @Nullable NettySetup netty;
        private final Exchange exchange;

        private Call(@Nullable NettySetup netty, Exchange exchange) {
            this.netty = netty;
            this.exchange = exchange;
        }

        /**
         * The channel serves the call from now on. Its request is to be written after this. The call ends with the last
         * content of the response, with the channel, or by {@link #failed}. A channel that does not speak HTTP/1.1 ends no
         * call: report its end by {@link #completed} or {@link #failed}.
         *
         * @return this call
         */
        public Call on(Channel channel) {
            NettyConnection connection = netty == null ? NettyConnection.of(channel) : netty.attached(channel);
            if (connection == null) {
                return this;
            }
            exchange.ownedBy(channel.eventLoop());
            if (channel.eventLoop().inEventLoop()) {
                connection.serve(exchange);
                return this;
            }
            try {
                channel.eventLoop().execute(() -> connection.serve(exchange));
            } catch (RejectedExecutionException e) {
                // The loop is shut down: the request is written in vain.
                failed(e);
            }
            return this;
        }

        /** The call is answered. Ignored once it has ended. */
        public void completed() {
            exchange.completed(System.nanoTime());
        }

        /** The call failed. Ignored once it has ended. */
        public void failed(Throwable error) {
            exchange.failed(error, NettyErrors::kindOf);
        }

        /** The caller gave up. Ignored once the call has ended. */
        public void cancelled() {
            exchange.cancelled();
        }
    }
}
