package io.github.onewrite.internal.netty;

import io.github.onewrite.OnewriteConfig;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPipeline;
import io.netty.handler.codec.http.HttpClientCodec;

/**
 * Puts our handlers around the HTTP/1.1 codec of a channel: {@link WireHandler} below, {@link CoalesceHandler} above.
 * A client may bring its codec late (ALPN) or change it (a tunnel): so they are looked at before each request of a timed
 * call, and otherwise when the codec they were put around is gone.
 */
public final class Handlers {
    private static final String CONNECT = "onewrite.connect";
    private static final String TUNNEL = "onewrite.tunnel";

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
        if (pipeline.get(WireHandler.NAME) != null) {
            pipeline.remove(WireHandler.NAME);
            pipeline.remove(CoalesceHandler.NAME);
        }
        pipeline.addBefore(codec.name(), WireHandler.NAME, new WireHandler(connection, config.quickack()));
        int joinMax = config.coalesces() ? config.coalesceMax() : -1;
        pipeline.addAfter(
                codec.name(), CoalesceHandler.NAME, new CoalesceHandler(connection, joinMax, answersHeldWrites));
        connection.surround(codec);
        return true;
    }
}
