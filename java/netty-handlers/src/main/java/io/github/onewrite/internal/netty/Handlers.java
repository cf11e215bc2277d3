package io.github.onewrite.internal.netty;

import io.github.onewrite.OnewriteConfig;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPipeline;
import io.netty.handler.codec.http.HttpClientCodec;
import java.util.List;

/**
 * Puts our handlers around the HTTP/1.1 codec of a channel: {@link WireHandler} below, {@link CoalesceHandler} above.
 * A client may bring its codec late (ALPN) or change it (a tunnel): so they are looked at before each request of a timed
 * call, and otherwise when the codec they were put around is gone.
 */
public final class Handlers {
    private static final String CONNECT = "onewrite.connect";
    private static final String TUNNEL = "onewrite.tunnel";
    private static final String WIRE = "onewrite.wire";
    private static final String ONE_WRITE = "onewrite.coalesce";

    private Handlers() {}

    /** Puts the handler that guards and stamps the connect next to the socket. */
    public static void guardConnect(Channel channel, TimedConnection connection, boolean nodelay) {
        channel.pipeline().addFirst(CONNECT, new ConnectHandler(connection, nodelay));
    }

    /**
     * The first bytes go to a proxy, whose tunnel is part of the connect.
     *
     * @param proxyHandler name of the handler that makes the tunnel
     */
    public static void awaitTunnel(Channel channel, TimedConnection connection, String proxyHandler) {
        connection.tunnel();
        channel.pipeline().addAfter(proxyHandler, TUNNEL, new TunnelHandler(connection));
    }

    /**
     * Puts the handlers around the codec again, when the client has changed its codec for another: the lower one's place
     * would be above that one, where there are no bytes to be counted, or the upper one's below it, where there are no
     * messages to be joined (AsyncHttpClient 3.0.1).
     */
    static void followCodec(Channel channel, TimedConnection connection, CoalesceHandler upper) {
        ChannelPipeline pipeline = channel.pipeline();
        ChannelHandlerContext codec = pipeline.context(HttpClientCodec.class);
        if (codec == null || !(pipeline.get(WIRE) instanceof WireHandler lower)) {
            return;
        }
        pipeline.remove(lower);
        pipeline.addBefore(codec.name(), WIRE, lower.again());
        List<String> names = pipeline.names();
        if (names.indexOf(ONE_WRITE) < names.indexOf(codec.name())) {
            toCodec(channel, upper);
        }
        connection.surround(codec);
    }

    /** Puts the upper handler next to the codec, below what the client has put there since. */
    static void toCodec(Channel channel, CoalesceHandler upper) {
        ChannelPipeline pipeline = channel.pipeline();
        ChannelHandlerContext codec = pipeline.context(HttpClientCodec.class);
        if (codec != null && pipeline.context(upper) != null) {
            CoalesceHandler moved = upper.again();
            pipeline.remove(upper);
            pipeline.addAfter(codec.name(), ONE_WRITE, moved);
        }
    }

    /**
     * Puts the handlers in place, where they are not.
     *
     * @param answersHeldWrites see {@link CoalesceHandler}
     * @return false when the channel does not speak HTTP/1.1
     */
    public static boolean surroundCodec(
            Channel channel, TimedConnection connection, OnewriteConfig config, boolean answersHeldWrites) {
        ChannelPipeline pipeline = channel.pipeline();
        ChannelHandlerContext codec = pipeline.context(HttpClientCodec.class);
        if (codec == null) {
            return false;
        }
        if (connection.surrounds(codec)) {
            return true;
        }
        if (pipeline.get(WIRE) != null) {
            pipeline.remove(WIRE);
            pipeline.remove(ONE_WRITE);
        }
        pipeline.addBefore(codec.name(), WIRE, new WireHandler(connection, config.quickack()));
        int joinMax = config.coalesces() ? config.coalesceMax() : -1;
        pipeline.addAfter(codec.name(), ONE_WRITE, new CoalesceHandler(connection, joinMax, answersHeldWrites));
        connection.surround(codec);
        return true;
    }
}
