package io.github.onewrite.okhttp;

import io.github.onewrite.OnewriteConfig;
import io.github.onewrite.SocketCounts;
import java.io.IOException;
import java.net.Socket;
import okhttp3.Call;
import okhttp3.Connection;
import okhttp3.EventListener;

/**
 * Sets TCP_NODELAY on the sockets that no factory of ours made, those of SOCKS proxies and of {@code withSocketFactory}:
 * later than the TLS handshake, but in time for the request. Reads it back, and counts the sockets that are not as the
 * switches say. Stateless: one instance serves all calls of a listener.
 */
final class NodelayListener extends ForwardingEventListener {
    private final OnewriteConfig config;
    private final SocketCounts counts;
    private final Connections connections;

    NodelayListener(EventListener next, OnewriteConfig config, SocketCounts counts, Connections connections) {
        super(next);
        this.config = config;
        this.counts = counts;
        this.connections = connections;
    }

    @Override
    public void connectionAcquired(Call call, Connection connection) {
        try {
            check(connection);
        } catch (IOException e) {
            // The socket is closed: the call fails on it next.
            System.getLogger("io.github.onewrite").log(System.Logger.Level.DEBUG, "TCP_NODELAY", e);
        }
        super.connectionAcquired(call, connection);
    }

    private void check(Connection connection) throws IOException {
        Socket socket = connection.socket();
        JoiningOutput output = socket instanceof Joining ours ? ours.output() : null;
        if (output != null && output.verified) {
            return;
        }
        boolean first = output != null || connections.isFirstSeen(connection);
        if (config.guardsNodelay() && !socket.getTcpNoDelay()) {
            socket.setTcpNoDelay(true);
            if (first && !socket.getTcpNoDelay()) {
                counts.withoutNodelay();
            }
        }
        if (output != null) {
            output.verified = true;
        } else if (first && config.coalesces()) {
            counts.notJoined(1);
        }
    }
}
