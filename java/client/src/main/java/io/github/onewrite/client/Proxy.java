package io.github.onewrite.client;

import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * An HTTP proxy. It forwards http requests (absolute form) and opens a tunnel (CONNECT) for https requests.
 *
 * @param user for Basic authentication, or null for none
 */
public record Proxy(
        String host,
        int port,
        @Nullable String user,
        @Nullable String password) {
    public Proxy {
        Objects.requireNonNull(host, "host");
        if (port < 1 || port > 65535) {
            throw new IllegalArgumentException("port must be 1 to 65535, not " + port);
        }
        if ((user == null) != (password == null)) {
            throw new IllegalArgumentException("user and password must be given together");
        }
    }

    /** A proxy without authentication. */
    public Proxy(String host, int port) {
        this(host, port, null, null);
    }

    @Override
    public String toString() {
        return host + ":" + port;
    }
}
