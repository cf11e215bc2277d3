package io.github.onewrite;

import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** The server that a URL names, without the brackets of an IPv6 address; the port is the scheme's where none is given. */
record ServerAddress(String host, int port) {

    /** Null when the URL names none. */
    static @Nullable ServerAddress of(String url) {
        int scheme = url.indexOf("://");
        if (scheme < 0) {
            return null;
        }
        int from = scheme + 3;
        int end = from;
        while (end < url.length() && "/?#".indexOf(url.charAt(end)) < 0) {
            end++;
        }
        String authority = url.substring(from, end);
        int colon = authority.lastIndexOf(':');
        boolean hasPort = colon > authority.lastIndexOf(']') && colon + 1 < authority.length();
        String host = colon > authority.lastIndexOf(']') ? authority.substring(0, colon) : authority;
        if (host.isEmpty()) {
            return null;
        }
        try {
            boolean tls = url.substring(0, scheme).toLowerCase(Locale.ROOT).equals("https");
            int port = hasPort ? Integer.parseInt(authority.substring(colon + 1)) : tls ? 443 : 80;
            return new ServerAddress(host.startsWith("[") ? host.substring(1, host.length() - 1) : host, port);
        } catch (NumberFormatException e) {
            // A URL that was refused names no server.
            return null;
        }
    }
}
