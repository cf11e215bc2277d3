package io.github.onewrite;

import java.util.Locale;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Takes credentials out of a URL before it is shown: user and password, and the value of each query key that has a secret
 * word (signature, token, key and others). The rule is the same in all languages: spec/testdata/README.md states it.
 */
public final class Redaction {
    /** A query key that has one of these words has a value that grants access. */
    private static final Set<String> WORDS = Set.of(
            "sig",
            "signature",
            "token",
            "secret",
            "password",
            "passwd",
            "pwd",
            "credential",
            "credentials",
            "auth",
            "authorization",
            "jwt",
            "hmac",
            "key",
            "apikey");

    private Redaction() {}

    /** The URL without user information and without the values of such keys; the same object if it has none. */
    public static String of(String url) {
        return withoutSecrets(withoutUserInfo(url));
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
            // A password with an unescaped delimiter ends the authority early: its beginning is read as a bad port.
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
        int bracket = url.startsWith("[", from) ? url.indexOf(']', from) : -1;
        int colon = url.indexOf(':', bracket < end ? Math.max(from, bracket) : from);
        if (colon < 0 || colon >= end) {
            return false;
        }
        for (int i = colon + 1; i < end; i++) {
            if (url.charAt(i) < '0' || url.charAt(i) > '9') {
                return true;
            }
        }
        return false;
    }

    private static String withoutSecrets(String url) {
        int query = url.indexOf('?');
        int fragment = query < 0 ? -1 : url.indexOf('#');
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
            if (equals >= 0 && equals < stop && isSecret(decoded(url.substring(at, equals)))) {
                shown = shown == null ? new StringBuilder(url.length()) : shown;
                shown.append(url, copied, equals + 1).append("REDACTED");
                copied = stop;
            }
            at = stop + 1;
        }
        return shown == null ? url : shown.append(url, copied, url.length()).toString();
    }

    /** Each byte of an escape as a character: all that are not ASCII separate words alike. */
    private static String decoded(String key) {
        if (key.indexOf('%') < 0) {
            return key;
        }
        StringBuilder decoded = new StringBuilder(key.length());
        for (int i = 0; i < key.length(); i++) {
            int high = i + 2 < key.length() && key.charAt(i) == '%' ? Character.digit(key.charAt(i + 1), 16) : -1;
            int low = high < 0 ? -1 : Character.digit(key.charAt(i + 2), 16);
            if (low < 0) {
                decoded.append(key.charAt(i));
            } else {
                decoded.append((char) (high * 16 + low));
                i += 2;
            }
        }
        return decoded.toString();
    }

    private static boolean isSecret(String key) {
        int from = 0;
        for (int i = 0; i <= key.length(); i++) {
            if (i == key.length() || !isLetterOrDigit(key.charAt(i))) {
                if (isWord(key, from, i)) {
                    return true;
                }
                from = i + 1;
            } else if (i > from && beginsWord(key, i)) {
                if (isWord(key, from, i)) {
                    return true;
                }
                from = i;
            }
        }
        return false;
    }

    private static boolean isWord(String key, int from, int to) {
        return to > from && WORDS.contains(key.substring(from, to).toLowerCase(Locale.ROOT));
    }

    /** A capital behind a small letter or a digit, or the last capital of a row that a small letter follows. */
    private static boolean beginsWord(String key, int at) {
        return isCapital(key.charAt(at))
                && (!isCapital(key.charAt(at - 1))
                        || (at + 1 < key.length() && key.charAt(at + 1) >= 'a' && key.charAt(at + 1) <= 'z'));
    }

    private static boolean isCapital(char c) {
        return c >= 'A' && c <= 'Z';
    }

    private static boolean isLetterOrDigit(char c) {
        return isCapital(c) || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    }
}
