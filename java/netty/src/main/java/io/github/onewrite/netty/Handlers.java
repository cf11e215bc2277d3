package io.github.onewrite.netty;

import io.github.onewrite.OnewriteConfig;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPipeline;
import io.netty.handler.codec.http.HttpClientCodec;

/**
 * Puts the adapter's handlers around the HTTP/1.1 codec of a channel: {@link WireHandler} below, {@link CoalesceHandler} above.
 * A client may add its codec late (ALPN) or replace it (a tunnel): so their position is checked before each request of a
 * timed call, and otherwise when the codec they surround has been removed.
 */
public final class Handlers {
    private static final String CONNECT = "onewrite.connect";
    private static final String TUNNEL = "onewrite.tunnel";

    private Handlers() {}

    /** Adds the handler next to the socket that checks TCP_NODELAY and stamps the connect. */
    public static void guardConnect(Channel channel, TimedConnection connection, boolean nodelay) {
        channel.pipeline().addFirst(CONNECT, new ConnectHandler(connection, nodelay));
    }

    /**
     * The channel will open a tunnel through a proxy, which is part of its connect.
     *
     * @param proxyHandler name of the handler that makes the tunnel
     */
    public static void awaitTunnel(Channel channel, TimedConnection connection, String proxyHandler) {
        connection.tunnel();
        channel.pipeline().addAfter(proxyHandler, TUNNEL, new TunnelHandler(connection));
    }

    /**
     * Puts the handlers in place, unless they are.
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
