package io.github.onewrite.ahc;

import io.github.onewrite.internal.SocketCounts;
import io.github.onewrite.netty.NettyConnection;
import io.github.onewrite.netty.OnewriteNetty;
import io.netty.channel.Channel;
import io.netty.util.AttributeKey;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Prepares each new channel, and binds it to the calls it serves.
 *
 * @param nodelay counts the sockets without TCP_NODELAY, which is set; null where the client sets it itself
 */
record ChannelSetup(OnewriteNetty onewrite, @Nullable SocketCounts nodelay) {
    /** The call for which the channel opens a tunnel. */
    private static final AttributeKey<OnewriteNetty.Call> MAKER = AttributeKey.valueOf(ChannelSetup.class, "maker");

    void http(Channel channel) {
        attached(channel).place(onewrite, false);
    }

    void websocket(Channel channel) {
        attached(channel);
    }

    private NettyConnection attached(Channel channel) {
        // NettyRequestSender.abort closes the channel before it reports the timeout to the handler.
        return NettyConnection.attach(channel, null, nodelay, ChannelSetup::maker, NettyConnection.Ends.BY_CLIENT);
    }

    private static OnewriteNetty.@Nullable Call maker(Channel channel) {
        return channel.attr(MAKER).get();
    }

    /** The call sends a CONNECT first. */
    void tunnel(Channel channel, OnewriteNetty.Call call) {
        onLoop(channel, connection -> {
            channel.attr(MAKER).set(call);
            connection.tunnel();
        });
    }

    /**
     * The channel serves the call. A pooled channel is written to from the caller's thread: this task reaches the event
     * loop before the request does.
     *
     * @param joins whether reading its body does not block the event loop
     */
    void serve(Channel channel, OnewriteNetty.Call call, boolean joins) {
        onLoop(channel, connection -> {
            channel.attr(MAKER).set(null);
            // After CONNECT there is a new codec.
            if (connection.place(onewrite, false)) {
                connection.serve(call, joins);
            }
        });
    }

    private static void onLoop(Channel channel, Consumer<NettyConnection> task) {
        NettyConnection connection = NettyConnection.of(channel);
        if (connection == null) {
            return;
        }
        if (channel.eventLoop().inEventLoop()) {
            task.accept(connection);
            return;
        }
        try {
            channel.eventLoop().execute(() -> task.accept(connection));
        } catch (RejectedExecutionException e) {
            // The client is being closed: its loop serves no call any more.
        }
    }
}
