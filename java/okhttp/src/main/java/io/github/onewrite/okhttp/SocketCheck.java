package io.github.onewrite.okhttp;

import io.github.onewrite.OnewriteConfig;
import io.github.onewrite.SocketCounts;
import java.net.Socket;
import java.net.SocketException;
import java.util.Collections;
import java.util.Set;
import java.util.WeakHashMap;
import okhttp3.Connection;

/**
 * Reads TCP_NODELAY back on each new connection, and sets it where no factory of ours made the socket: on those of SOCKS
 * proxies and of {@code withSocketFactory}, later than the TLS handshake but in time for the request.
 */
final class SocketCheck {
    private final OnewriteConfig config;
    private final SocketCounts counts;
    private final Set<Connection> checked = Collections.synchronizedSet(Collections.newSetFromMap(new WeakHashMap<>()));

    SocketCheck(OnewriteConfig config, SocketCounts counts) {
        this.config = config;
        this.counts = counts;
    }

    void check(Connection connection) {
        if (!checked.add(connection)) {
            return;
        }
        Socket socket = connection.socket();
        if (config.coalesces() && !(socket instanceof Joining)) {
            counts.notJoined(1);
        }
        try {
            if (config.guardsNodelay() && !socket.getTcpNoDelay()) {
                socket.setTcpNoDelay(true);
                if (!socket.getTcpNoDelay()) {
                    counts.withoutNodelay();
                }
            }
        } catch (SocketException e) {
            // The socket is closed: the request fails on it next.
        }
    }
}
