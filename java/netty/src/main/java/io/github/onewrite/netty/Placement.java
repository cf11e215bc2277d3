package io.github.onewrite.netty;

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
 * Where the handlers stand: {@link ByteHandler} below the HTTP/1.1 codec, {@link CoalesceHandler} and {@link TimingHandler}
 * above. A client may add its codec late (ALPN) or replace it (a tunnel): so the place is checked before each request.
 */
final class Placement {
    private @Nullable ChannelHandlerContext codec;

    /**
     * Puts the handlers in place, unless they are.
     *
     * @param answersHeldWrites see {@link CoalesceHandler}
     * @return false when the channel does not speak HTTP/1.1
     */
    boolean place(
            ChannelPipeline pipeline, NettyConnection connection, OnewriteNetty onewrite, boolean answersHeldWrites) {
        if (isPlaced()) {
            return true;
        }
        ChannelHandlerContext top = codec(pipeline, true);
        ChannelHandlerContext bottom = codec(pipeline, false);
        if (top == null || bottom == null) {
            return false;
        }
        for (String name : List.of(ByteHandler.NAME, CoalesceHandler.NAME, TimingHandler.NAME)) {
            if (pipeline.context(name) != null) {
                pipeline.remove(name);
            }
        }
        codec = top;
        OnewriteConfig config = onewrite.switchesNow();
        BodyStart start = config.coalesces() ? new BodyStart(config.coalesceMax()) : null;
        if (onewrite.wanted() || config.acknowledgesAtOnce() || start != null) {
            pipeline.addBefore(
                    bottom.name(), ByteHandler.NAME, new ByteHandler(connection, start, config.acknowledgesAtOnce()));
        }
        if (onewrite.wanted()) {
            pipeline.addAfter(top.name(), TimingHandler.NAME, new TimingHandler(connection));
        }
        if (start != null) {
            pipeline.addAfter(
                    top.name(),
                    CoalesceHandler.NAME,
                    new CoalesceHandler(
                            start, config.coalesceMax(), answersHeldWrites, connection::takeJoin, System::nanoTime));
        }
        return true;
    }

    boolean isPlaced() {
        return codec != null && !codec.isRemoved();
    }

    /** Puts a handler directly above the codec, below what the client has put there since. */
    static void toCodec(ChannelPipeline pipeline, ChannelHandler moved) {
        ChannelHandlerContext top = codec(pipeline, true);
        if (top != null) {
            pipeline.remove(moved);
            pipeline.addAfter(top.name(), CoalesceHandler.NAME, moved);
        }
    }

    /** The codec, or the upper or lower half of one that is two handlers. */
    private static @Nullable ChannelHandlerContext codec(ChannelPipeline pipeline, boolean upper) {
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
