package io.github.onewrite.netty.internal;

import io.github.onewrite.OnewriteConfig;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPipeline;
import io.netty.handler.codec.http.HttpClientCodec;
import io.netty.handler.codec.http.HttpRequestEncoder;
import io.netty.handler.codec.http.HttpResponseDecoder;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Where the handlers stand: one below the HTTP/1.1 codec, one directly above it. A client may add its codec late (ALPN) or
 * replace it (a tunnel): so the place is checked before each request. Without a hook, they are those that join alone.
 */
final class Placement {
    private final NettyConnection connection;
    private final ChannelPipeline pipeline;
    private final OnewriteConfig config;
    private final int joinMax;
    private @Nullable ChannelHandlerContext codec;
    private boolean timing;

    Placement(NettyConnection connection, ChannelPipeline pipeline, OnewriteConfig config) {
        this.connection = connection;
        this.pipeline = pipeline;
        this.config = config;
        this.joinMax = config.coalesces() ? config.coalesceMax() : 0;
    }

    /**
     * Puts the handlers in place, unless they are.
     *
     * @param timed whether those that take the times are needed
     * @return false when the channel does not speak HTTP/1.1
     */
    boolean place(boolean timed) {
        if (isPlaced() && (timing || !timed)) {
            return true;
        }
        ChannelHandlerContext top = codec(true);
        ChannelHandlerContext bottom = codec(false);
        if (top == null || bottom == null) {
            return false;
        }
        codec = top;
        remove(ByteHandler.NAME);
        if (timed && !timing) {
            timing = true;
            remove(Joiner.NAME);
        }
        if (timing || joinMax > 0) {
            pipeline.addBefore(bottom.name(), ByteHandler.NAME, new ByteHandler(connection, joinMax > 0));
            adjoin();
        }
        KernelProbe probe = connection.probe;
        if (config.acknowledgesAtOnce() && probe != null && pipeline.context(KernelProbe.QUICKACK) == null) {
            pipeline.addBefore(bottom.name(), KernelProbe.QUICKACK, probe.new AtOnce());
        }
        return true;
    }

    boolean isPlaced() {
        return codec != null && !codec.isRemoved();
    }

    /**
     * A handler that was added since may stand between the codec and ours, and consume answers: ours goes below it.
     *
     * @return whether it does
     */
    boolean adjoin() {
        List<String> names = pipeline.names();
        int above = codec == null ? 0 : names.indexOf(codec.name()) + 1;
        if (above == 0 || Joiner.NAME.equals(names.get(above))) {
            return false;
        }
        Joiner ours = (Joiner) pipeline.get(Joiner.NAME);
        if (ours == null) {
            ours = timing ? new TimingHandler(connection, this, joinMax) : new Joiner(this, joinMax);
        } else {
            ours.moving = true;
            pipeline.remove(ours);
        }
        // OpenTelemetry's agent turns addAfter the codec into addAfter its own handler.
        String next = names.get(above);
        if (pipeline.context(next) == null) {
            pipeline.addLast(Joiner.NAME, ours);
        } else {
            pipeline.addBefore(next, Joiner.NAME, ours);
        }
        ours.moving = false;
        return true;
    }

    private void remove(String name) {
        if (pipeline.context(name) != null) {
            pipeline.remove(name);
        }
    }

    /** The codec, or the upper or lower half of one that is two handlers. */
    private @Nullable ChannelHandlerContext codec(boolean upper) {
        ChannelHandlerContext found = pipeline.context(HttpClientCodec.class);
        if (found != null) {
            return found;
        }
        for (Map.Entry<String, ChannelHandler> each : pipeline) {
            boolean half =
                    each.getValue() instanceof HttpRequestEncoder || each.getValue() instanceof HttpResponseDecoder;
            if (half && (upper || found == null)) {
                found = pipeline.context(each.getValue());
            }
        }
        return found;
    }
}
