package io.github.onewrite.reactornetty;

import io.github.onewrite.netty.internal.Exchange;
import io.github.onewrite.netty.internal.NettyConnection;
import io.netty.channel.Channel;
import java.nio.channels.ClosedChannelException;
import org.jspecify.annotations.Nullable;
import reactor.netty.Connection;
import reactor.netty.ConnectionObserver;
import reactor.netty.channel.ChannelOperations;
import reactor.netty.http.client.HttpClientInfos;
import reactor.netty.http.client.HttpClientState;

/** Binds each exchange to its connection, and stamps its end. Runs on the connection's event loop. */
final class ExchangeObserver implements ConnectionObserver {
    /** Of the customizer: a context may carry the call of another one, too. */
    private final Object key;

    ExchangeObserver(Object key) {
        this.key = key;
    }

    @Override
    public void onStateChange(Connection connection, State state) {
        Channel channel = connection.channel();
        NettyConnection wire = NettyConnection.of(channel);
        if (state == State.CONFIGURED) {
            if (wire == null || !wire.place()) {
                return;
            }
            PendingCall call = pending(connection);
            if (call == null) {
                wire.serve(Exchange.UNTIMED);
            } else if (call.isStarted()) {
                call.serveBy(wire);
            }
        } else if (state == HttpClientState.REQUEST_PREPARED) {
            PendingCall call = pending(connection);
            if (call != null && !call.isStarted() && connection instanceof HttpClientInfos request) {
                call.start(request.method(), request.resourceUrl());
                if (wire != null && wire.place()) {
                    call.serveBy(wire);
                }
            }
        } else if (state == HttpClientState.RESPONSE_COMPLETED) {
            complete(connection, wire);
        } else if (state == HttpClientState.RESPONSE_INCOMPLETE && wire != null) {
            // Before the response an exception follows; after its head there is only this event.
            wire.error(new ClosedChannelException());
        }
    }

    private void complete(Connection connection, @Nullable NettyConnection wire) {
        if (wire != null) {
            wire.release(isReusable(connection));
        }
        PendingCall call = pending(connection);
        if (call != null) {
            call.completed(connection.channel().eventLoop());
        }
    }

    /** An attempt ends here: with a redirect or a challenge after a complete response, or with an error. */
    @Override
    public void onUncaughtException(Connection connection, Throwable error) {
        NettyConnection wire = NettyConnection.of(connection.channel());
        if (wire == null) {
            return;
        }
        String kind = error.getClass().getSimpleName();
        boolean answered = kind.equals("RedirectClientException") || kind.equals("HttpClientAuthenticationException");
        wire.attemptEnded(answered && isReusable(connection), answered ? null : error);
    }

    private static boolean isReusable(Connection connection) {
        return connection.isPersistent() && connection.channel().isActive();
    }

    private @Nullable PendingCall pending(Connection connection) {
        if (connection instanceof HttpClientInfos infos) {
            return TimedConnect.callOf(infos.currentContextView(), key);
        }
        return connection instanceof ChannelOperations<?, ?> operations
                ? TimedConnect.callOf(operations.currentContext(), key)
                : null;
    }
}
