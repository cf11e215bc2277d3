package io.github.onewrite.client.internal;

import io.github.onewrite.ErrorKind;
import io.github.onewrite.OnewriteException;
import io.github.onewrite.Redaction;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * A URL taken apart by RFC 3986, 3 and RFC 9110, 4.2. {@link java.net.URI} answers no host for names with an underscore,
 * which container networks are full of.
 *
 * @param hostHeader host and port as the Host header has them: the default port left out
 * @param path the request target in origin form: path and query, without the fragment
 */
public record Target(String url, Origin origin, String hostHeader, String path) {
    /** The one that was parsed last: many a service sends to one URL again and again. */
    private static volatile @Nullable Target last;

    public static Target parse(String url) throws OnewriteException {
        Target known = last;
        if (known == null || !known.url.equals(url)) {
            known = parsed(url);
            last = known;
        }
        return known;
    }

    private static Target parsed(String url) throws OnewriteException {
        for (int i = 0; i < url.length(); i++) {
            char c = url.charAt(i);
            if (c <= ' ' || c >= 0x7f) {
                throw refused(url, "has a character that is not allowed at index " + i + ": percent-encode it");
            }
        }
        boolean tls = url.regionMatches(true, 0, "https://", 0, 8);
        if (!tls && !url.regionMatches(true, 0, "http://", 0, 7)) {
            throw refused(url, "is to begin with http:// or https://");
        }
        int from = tls ? 8 : 7;
        int end = endOfAuthority(url, from);
        int at = url.indexOf('@', from);
        if (at >= 0 && at < end) {
            throw refused(url, "has user information, which is never sent: set the Authorization header");
        }
        int colon = url.lastIndexOf(':', end - 1);
        int hostEnd = colon >= from && colon > url.lastIndexOf(']', end - 1) ? colon : end;
        if (hostEnd == from) {
            throw refused(url, "has no host");
        }
        String host = url.substring(from, hostEnd).toLowerCase(Locale.ROOT);
        int standard = tls ? 443 : 80;
        int port = port(url, hostEnd + 1, end, standard);
        String bare = host.startsWith("[") ? host.substring(1, host.length() - 1) : host;
        String hostHeader = port == standard ? host : host + ":" + port;
        return new Target(url, new Origin(tls, bare, port), hostHeader, pathOf(url, end));
    }

    /** The request target in absolute form, for a forward proxy (RFC 9112, 3.2.2). */
    public String absolute() {
        return (origin.tls() ? "https://" : "http://") + hostHeader + path;
    }

    private static int endOfAuthority(String url, int from) {
        for (int i = from; i < url.length(); i++) {
            char c = url.charAt(i);
            if (c == '/' || c == '?' || c == '#') {
                return i;
            }
        }
        return url.length();
    }

    private static int port(String url, int from, int end, int standard) throws OnewriteException {
        if (from >= end) {
            return standard;
        }
        int port = 0;
        for (int i = from; i < end; i++) {
            char c = url.charAt(i);
            if (c < '0' || c > '9' || i - from > 4) {
                throw refused(url, "has no valid port");
            }
            port = port * 10 + (c - '0');
        }
        if (port == 0 || port > 65535) {
            throw refused(url, "has no valid port");
        }
        return port;
    }

    private static String pathOf(String url, int from) {
        int fragment = url.indexOf('#', from);
        String path = url.substring(from, fragment < 0 ? url.length() : fragment);
        return path.startsWith("/") ? path : "/" + path;
    }

    private static OnewriteException refused(String url, String why) {
        return new OnewriteException(
                ErrorKind.OTHER, "URL " + RequestValidator.printable(Redaction.of(url)) + " " + why);
    }
}
