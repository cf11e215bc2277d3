package io.github.onewrite.internal;

/** The URL of a record. */
final class Urls {
    private Urls() {}

    /** Scheme, host, port if there is one, and path; without user information, query and fragment, where secrets may be. */
    static String shown(String url) {
        int end = end(url, 0, "?#");
        int slashes = url.indexOf("://");
        if (slashes < 0 || slashes > end) {
            return url.substring(0, end);
        }
        int host = slashes + 3;
        int path = Math.min(end, end(url, host, "/\\"));
        int at = url.lastIndexOf('@', path - 1);
        return at < host ? url.substring(0, end) : url.substring(0, host) + url.substring(at + 1, end);
    }

    /** Where the first of these characters stands, or the length. */
    private static int end(String url, int from, String characters) {
        int at = from;
        while (at < url.length() && characters.indexOf(url.charAt(at)) < 0) {
            at++;
        }
        return at;
    }
}
