package io.github.onewrite.netty.internal;

import io.github.onewrite.internal.Stamps;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelFutureListener;
import org.jspecify.annotations.Nullable;

/** A request on a connection, from its head until its end: the record. Listens to the last write of its request. */
final class Exchange extends Stamps implements ChannelFutureListener {
    /** False for what a hook requests, and for a CONNECT: it keeps its place before those that follow it. */
    final boolean isTimed;

    /** It asks for another protocol. */
    boolean upgrades;

    /** The codec has written bytes that no flush has handed over yet. */
    boolean pending;

    /** Null once it has ended: a record keeps no channel. */
    private @Nullable NettyConnection on;

    Exchange(NettyConnection on, long startedAt, boolean isTimed) {
        super(startedAt);
        this.on = on;
        this.isTimed = isTimed;
    }

    void leave() {
        on = null;
    }

    @Override
    public void operationComplete(ChannelFuture write) {
        NettyConnection connection = on;
        if (connection == null) {
            return;
        }
        if (write.isSuccess()) {
            connection.sent(this);
        } else {
            connection.notSent(this, write.cause());
        }
    }
}
