package io.github.onewrite.ahc;

import io.github.onewrite.OnewriteConfig;
import io.github.onewrite.internal.TimedCall;
import io.github.onewrite.netty.Handlers;
import io.github.onewrite.netty.TimedConnection;
import io.netty.channel.Channel;
import io.netty.util.AttributeKey;
import org.jspecify.annotations.Nullable;

/**
 * Prepares each new channel, and binds it to the calls it serves.
 *
 * @param nodelay whether TCP_NODELAY is to be ensured
 */
record ChannelSetup(OnewriteConfig config, boolean nodelay) {
    /** The call for which the channel was connected, while its tunnel and handshake are not complete. */
    private static final AttributeKey<TimedCall> MAKER = AttributeKey.valueOf(ChannelSetup.class, "maker");

    void http(Channel channel) {
        Handlers.surroundCodec(channel, guarded(channel), config, false);
    }

    void websocket(Channel channel) {
        guarded(channel);
    }

    private TimedConnection guarded(Channel channel) {
        TimedConnection wire = TimedConnection.attach(channel, null, ChannelSetup::maker);
        // NettyRequestSender.abort closes the channel before it reports the timeout to the handler.
        wire.clientReportsOutcome();
        Handlers.guardConnect(channel, wire, nodelay);
        return wire;
    }

    private static @Nullable TimedCall maker(Channel channel) {
        return channel.attr(MAKER).get();
    }

    /** The channel is connected, for this call. */
    void madeFor(Channel channel, TimedCall call) {
        channel.attr(MAKER).set(call);
    }

    /** The call sends a CONNECT first. */
    void tunnel(Channel channel) {
        TimedConnection wire = TimedConnection.of(channel);
        if (wire != null) {
            onLoop(channel, wire::tunnel);
        }
    }

    /**
     * The channel serves the call. A pooled channel is written to from the caller's thread: this task reaches the event
     * loop before the request does.
     */
    void serve(Channel channel, TimedCall call) {
        TimedConnection wire = TimedConnection.of(channel);
        if (wire != null) {
            onLoop(channel, () -> {
                channel.attr(MAKER).set(null);
                // After CONNECT there is a new codec.
                if (Handlers.surroundCodec(channel, wire, config, false)) {
                    wire.serve(call);
                }
            });
        }
    }

    /** The channel is done with the call. */
    void release(Channel channel, boolean reusable) {
        TimedConnection wire = TimedConnection.of(channel);
        if (wire != null) {
            onLoop(channel, () -> wire.release(reusable));
        }
    }

    private static void onLoop(Channel channel, Runnable task) {
        if (channel.eventLoop().inEventLoop()) {
            task.run();
        } else {
            channel.eventLoop().execute(task);
        }
    }
}
