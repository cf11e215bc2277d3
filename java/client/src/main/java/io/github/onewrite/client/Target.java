package io.github.onewrite.client;

import java.net.URI;
import java.util.Locale;

/**
 * A URL in the parts that a request needs.
 *
 * @param authority host and port as the URL has them, for the Host header
 * @param path path and query: the request target in origin form
 */
record Target(Origin origin, String authority, String path) {
    /** The key of a pool. */
    record Origin(boolean tls, String host, int port) {
        @Override
        public String toString() {
            return (tls ? "https://" : "http://") + host + ":" + port;
        }
    }

    /** Parses a URL, or throws IllegalArgumentException when it is none of http or https. */
    static Target of(String url) {
        URI uri = URI.create(url);
        boolean tls = "https".equalsIgnoreCase(uri.getScheme());
        String userAndHost = uri.getRawAuthority();
        if ((!tls && !"http".equalsIgnoreCase(uri.getScheme())) || userAndHost == null) {
            throw new IllegalArgumentException("the URL must begin with http:// or https:// and have a host");
        }
        // Taken apart here: java.net.URI has no host for names with an underscore, which container networks use.
        String authority = userAndHost.substring(userAndHost.lastIndexOf('@') + 1);
        int colon = authority.lastIndexOf(':');
        boolean hasPort = colon > authority.lastIndexOf(']');
        String host = (hasPort ? authority.substring(0, colon) : authority).toLowerCase(Locale.ROOT);
        String port = hasPort ? authority.substring(colon + 1) : "";
        if (host.isEmpty()) {
            throw new IllegalArgumentException("the URL must have a host");
        }
        String bare = host.startsWith("[") ? host.substring(1, host.length() - 1) : host;
        Origin origin = new Origin(tls, bare, port.isEmpty() ? (tls ? 443 : 80) : Integer.parseInt(port));
        String path = uri.getRawPath().isEmpty() ? "/" : uri.getRawPath();
        return new Target(origin, authority, uri.getRawQuery() == null ? path : path + "?" + uri.getRawQuery());
    }

    /** The request target in absolute form, for a forward proxy (RFC 9112, 3.2.2). */
    String absolute() {
        return "http://" + authority + path;
    }
}
