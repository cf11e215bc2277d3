package io.github.onewrite.okhttp;

import java.net.Proxy;
import java.net.SocketException;
import okhttp3.Call;
import okhttp3.Connection;
import okhttp3.EventListener;

/**
 * Sets TCP_NODELAY on the sockets of SOCKS proxies, which OkHttp makes itself: later than the TLS handshake, but in time
 * for the request. Stateless: one instance serves all calls.
 */
final class LateNodelay extends ForwardingEventListener {
    LateNodelay(EventListener next) {
        super(next);
    }

    @Override
    public void connectionAcquired(Call call, Connection connection) {
        if (connection.route().proxy().type() == Proxy.Type.SOCKS) {
            try {
                connection.socket().setTcpNoDelay(true);
            } catch (SocketException e) {
                // The socket is closed: the call fails on it next.
                System.getLogger("io.github.onewrite").log(System.Logger.Level.DEBUG, "TCP_NODELAY", e);
            }
        }
        super.connectionAcquired(call, connection);
    }
}
