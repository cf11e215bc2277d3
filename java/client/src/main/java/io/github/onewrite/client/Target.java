package io.github.onewrite.client;

import java.net.URI;
import java.util.Locale;
import java.util.function.IntPredicate;

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

    /**
     * Parses a URL, or throws IllegalArgumentException when it is none of http or https. Not by java.net.URI, which
     * allocates a tenth of what a call does, and has no host for names with an underscore, which container networks use.
     */
    static Target of(String url) {
        boolean tls = url.regionMatches(true, 0, "https://", 0, 8);
        if (!tls && !url.regionMatches(true, 0, "http://", 0, 7)) {
            throw new IllegalArgumentException("the URL must begin with http:// or https:// and have a host");
        }
        if (find(url, 0, each -> !isPlain(each)) < url.length()) {
            URI.create(url); // refuses what may not be in a URL
        }
        int start = tls ? 8 : 7;
        int end = find(url, start, each -> each == '/' || each == '?' || each == '#');
        String userAndHost = url.substring(start, end);
        String authority = userAndHost.substring(userAndHost.lastIndexOf('@') + 1);
        int colon = authority.lastIndexOf(':');
        boolean hasPort = colon > authority.lastIndexOf(']');
        String host = (hasPort ? authority.substring(0, colon) : authority).toLowerCase(Locale.ROOT);
        if (host.isEmpty()) {
            throw new IllegalArgumentException("the URL must have a host");
        }
        String bare = host.startsWith("[") ? host.substring(1, host.length() - 1) : host;
        int port = !hasPort || colon + 1 == authority.length()
                ? (tls ? 443 : 80)
                : Integer.parseInt(authority, colon + 1, authority.length(), 10);
        String path = url.substring(end, find(url, end, each -> each == '#'));
        return new Target(new Origin(tls, bare, port), authority, path.startsWith("/") ? path : "/" + path);
    }

    /** The index of the first such character, or the length of the URL. */
    private static int find(String url, int from, IntPredicate what) {
        int at = from;
        while (at < url.length() && !what.test(url.charAt(at))) {
            at++;
        }
        return at;
    }

    /** Whether a character may be anywhere in authority, path and query. */
    private static boolean isPlain(int each) {
        return each < 128 && (Character.isLetterOrDigit(each) || "-._~/?&=+:@,;!$'()*".indexOf(each) >= 0);
    }

    /** The request target in absolute form, for a forward proxy (RFC 9112, 3.2.2). */
    String absolute() {
        return "http://" + authority + path;
    }
}
