package io.github.onewrite.netty.internal;

import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPipeline;
import io.netty.channel.ChannelPromise;
import io.netty.handler.codec.http.HttpClientCodec;
import io.netty.handler.codec.http.HttpRequestEncoder;
import io.netty.handler.codec.http.HttpResponseDecoder;
import java.net.SocketAddress;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Adds the handlers beside the HTTP/1.1 codec of a pipeline. Where there is none, as with ALPN, this waits for one at the
 * head of the pipeline. A request that is written in the same event as its codec is added leaves as in stock, without a
 * record.
 */
final class Placement extends ConnectSteps {
    static final String NAME = "onewrite.placement";

    /** After so many events, more than the handshakes of proxy and TLS have, there will be no codec: HTTP/2. */
    private static final int CHECKS = 64;

    private final NettySetup setup;
    private int checks;

    private Placement(NettySetup setup, @Nullable NettyConnection connection) {
        super(connection);
        this.setup = setup;
    }

    static void placeOrWait(NettySetup setup, ChannelPipeline pipeline) {
        if (!place(setup, pipeline) && pipeline.get(NAME) == null) {
            pipeline.addFirst(NAME, new Placement(setup, NettyConnection.of(pipeline.channel())));
        }
    }

    /** The codec was replaced, or removed for another protocol. */
    static void again(NettySetup setup, ChannelPipeline pipeline) {
        for (String name : new String[] {Joiner.NAME, Wire.NAME, KernelProbe.QUICKACK}) {
            if (pipeline.get(name) != null) {
                pipeline.remove(name);
            }
        }
        placeOrWait(setup, pipeline);
    }

    /** Returns false where there is no codec. */
    private static boolean place(NettySetup setup, ChannelPipeline pipeline) {
        String lowest = null;
        String highest = null;
        for (Map.Entry<String, ChannelHandler> each : pipeline) {
            ChannelHandler handler = each.getValue();
            if (handler instanceof HttpClientCodec
                    || handler instanceof HttpRequestEncoder
                    || handler instanceof HttpResponseDecoder) {
                lowest = lowest == null ? each.getKey() : lowest;
                highest = each.getKey();
            }
        }
        if (lowest == null) {
            return false;
        }
        NettyConnection connection = NettyConnection.of(pipeline.channel());
        ChannelHandlerContext codec = pipeline.context(highest);
        if (connection != null) {
            pipeline.addBefore(lowest, Wire.NAME, new Wire(connection));
            pipeline.addAfter(highest, Joiner.NAME, new Messages(setup, codec, connection));
        } else {
            pipeline.addAfter(highest, Joiner.NAME, new Joiner(setup, codec));
        }
        if (setup.switches().acknowledgesAtOnce() && KernelProbe.isNative(pipeline.channel())) {
            pipeline.addBefore(lowest, KernelProbe.QUICKACK, new KernelProbe.AtOnce());
        }
        return true;
    }

    /** Armeria writes its first request before the channel is reported as active. */
    @Override
    public void connect(ChannelHandlerContext ctx, SocketAddress remote, SocketAddress local, ChannelPromise promise) {
        super.connect(ctx, remote, local, promise);
        check(ctx);
    }

    @Override
    public void channelActive(ChannelHandlerContext ctx) {
        super.channelActive(ctx);
        check(ctx);
    }

    @Override
    public void channelReadComplete(ChannelHandlerContext ctx) {
        ctx.fireChannelReadComplete();
        check(ctx);
    }

    @Override
    public void flush(ChannelHandlerContext ctx) {
        ctx.flush();
        if (check(ctx) && connection != null) {
            connection.missed();
        }
    }

    /** Returns whether the handlers are in place now, and were not before. */
    private boolean check(ChannelHandlerContext ctx) {
        if (ctx.isRemoved()) {
            return false;
        }
        boolean isPlaced = place(setup, ctx.pipeline());
        if (isPlaced && connection != null) {
            connection.readyLate();
        }
        if (!isPlaced && ++checks == CHECKS) {
            setup.notJoined();
        }
        if (isPlaced || checks == CHECKS) {
            ctx.pipeline().remove(this);
        }
        return isPlaced;
    }
}
