package io.github.onewrite.netty;

import io.github.onewrite.TimingOptions;
import io.github.onewrite.internal.Setup;
import io.github.onewrite.netty.internal.NettySetup;
import io.netty.bootstrap.Bootstrap;
import io.netty.channel.ChannelPipeline;
import io.netty.channel.pool.ChannelPool;
import io.netty.channel.pool.ChannelPoolHandler;

/**
 * Makes the HTTP/1.1 requests of Netty's channels leave in one write, guards TCP_NODELAY, and times requests.
 *
 * <pre>{@code
 * OnewriteNetty onewrite = OnewriteNetty.create().onTiming(System.out::println);
 * ChannelPool pool = onewrite.wrap(
 *         new FixedChannelPool(onewrite.apply(bootstrap), onewrite.wrap(handler), 8), "https://api.example.com");
 * }</pre>
 *
 * <p>The program acquires, writes and releases as before. Netty sends what is flushed: a head that is flushed before its
 * body, as AWS SDK v2 and Armeria do, is two segments. With this, what is written in the same turn of the event loop leaves
 * with the head.
 *
 * <p>A pipeline is prepared when it is made: with the switches and hooks that are there by then. Without a hook it gets one
 * handler, and no clock is read. A request that changes the protocol (CONNECT, or one that is answered by 101) has no record.
 * Answers belong to requests in order, so pipelined requests are timed, too.
 */
public final class OnewriteNetty extends TimingOptions<OnewriteNetty> {
    private final NettySetup netty;

    private OnewriteNetty(Setup setup) {
        super(setup);
        this.netty = new NettySetup(setup, true);
    }

    /** Starts with the switches of system properties and environment. */
    public static OnewriteNetty create() {
        return new OnewriteNetty(NettySetup.create());
    }

    /**
     * Guards TCP_NODELAY on each connection of a bootstrap whose pipeline or pool handler this is applied to, unless the
     * bootstrap names the option itself. {@link #status} counts the connections without it. Records have the time in which
     * the bootstrap's remote address is looked up.
     *
     * @return the same bootstrap
     */
    public Bootstrap apply(Bootstrap bootstrap) {
        return netty.apply(bootstrap);
    }

    /**
     * Adds the handlers beside the HTTP/1.1 codec of a pipeline: an HttpClientCodec, or an encoder and a decoder. TLS and
     * the codec may be there already or come later, as with ALPN, and the codec may be replaced. A pipeline that gets none,
     * as with HTTP/2, stays as it is, and {@link #status} counts it. A second call changes nothing.
     *
     * @return the same pipeline
     */
    public ChannelPipeline apply(ChannelPipeline pipeline) {
        return netty.apply(pipeline);
    }

    /**
     * Wraps the handler of a channel pool: the pipeline of each channel that the pool makes is prepared, after the handler has
     * filled it, as by {@link #apply(ChannelPipeline)}.
     */
    public ChannelPoolHandler wrap(ChannelPoolHandler handler) {
        return netty.wrap(handler);
    }

    /**
     * Times a pool: the first request on a channel that was acquired begins with the acquire, so its record has the wait for
     * the channel and, if that is a new one, DNS, connect and TLS. An acquire that fails has a record. Without a hook this is
     * the same pool.
     *
     * @param origin scheme, host and port, which the record of a failed acquire has as its URL
     */
    public ChannelPool wrap(ChannelPool pool, String origin) {
        return netty.wrap(pool, origin);
    }
}
