package io.github.onewrite;

import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Takes credentials out of a URL before it is shown: in records, events, flight recordings and error messages. The rule,
 * common to all languages, is stated in spec/testdata/README.md; the query keys are those that OpenTelemetry's semantic
 * conventions list for {@code url.full}.
 */
public final class Redaction {
    /** Query keys whose values grant access; case-sensitive. */
    private static final Set<String> KEYS = Set.of("AWSAccessKeyId", "Signature", "sig", "X-Goog-Signature");

    private Redaction() {}

    /** The URL without user information and without the values of those keys; the same object if it has none. */
    public static String of(String url) {
        return withoutSignatures(withoutUserInfo(url));
    }

    /** The user information of a URL with the {@code @} behind it, or null: for texts of others that repeat it. */
    public static @Nullable String userInfo(String url) {
        int removed = url.length() - withoutUserInfo(url).length();
        int from = removed == 0 ? 0 : authorityStart(url);
        return removed == 0 ? null : url.substring(from, from + removed);
    }

    private static String withoutUserInfo(String url) {
        int last = url.lastIndexOf('@');
        if (last < 0) {
            return url;
        }
        int from = authorityStart(url);
        int end = authorityEnd(url, from);
        int at = url.lastIndexOf('@', end - 1);
        if (at < from) {
            // A password with an unescaped delimiter ends the authority early: its beginning looks like a bad port.
            at = last >= end && hasBadPort(url, from, end) ? last : -1;
        }
        return at < 0 ? url : url.substring(0, from) + url.substring(at + 1);
    }

    private static int authorityStart(String url) {
        int at = 0;
        while (at < url.length() && url.charAt(at) <= ' ') {
            at++;
        }
        for (String scheme : new String[] {"https:", "http:"}) {
            if (url.regionMatches(true, at, scheme, 0, scheme.length())) {
                at += scheme.length();
                while (at < url.length() && (url.charAt(at) == '/' || url.charAt(at) == '\\')) {
                    at++;
                }
                return at;
            }
        }
        int slashes = url.indexOf("//", at);
        boolean marksAuthority =
                slashes == at || (slashes > at && url.charAt(slashes - 1) == ':' && authorityEnd(url, at) == slashes);
        return marksAuthority ? slashes + 2 : at;
    }

    private static int authorityEnd(String url, int from) {
        int at = from;
        while (at < url.length() && "/\\?#".indexOf(url.charAt(at)) < 0) {
            at++;
        }
        return at;
    }

    private static boolean hasBadPort(String url, int from, int end) {
        int colon = url.lastIndexOf(':', end - 1);
        if (colon < from || colon < url.lastIndexOf(']', end - 1)) {
            return false;
        }
        for (int i = colon + 1; i < end; i++) {
            if (url.charAt(i) < '0' || url.charAt(i) > '9') {
                return true;
            }
        }
        return false;
    }

    private static String withoutSignatures(String url) {
        int query = url.indexOf('?');
        int fragment = url.indexOf('#');
        int end = fragment < 0 ? url.length() : fragment;
        if (query < 0 || query > end) {
            return url;
        }
        StringBuilder shown = null;
        int copied = 0;
        int at = query + 1;
        while (at < end) {
            int next = url.indexOf('&', at);
            int stop = next < 0 || next > end ? end : next;
            int equals = url.indexOf('=', at);
            if (equals >= 0 && equals < stop && KEYS.contains(url.substring(at, equals))) {
                shown = shown == null ? new StringBuilder(url.length()) : shown;
                shown.append(url, copied, equals + 1).append("REDACTED");
                copied = stop;
            }
            at = stop + 1;
        }
        return shown == null ? url : shown.append(url, copied, url.length()).toString();
    }
}
