package io.github.onewrite.spi;

/** Tokens of HTTP (RFC 9110, 5.6.2): methods, and names of headers and of metrics. */
public final class Tokens {
    private Tokens() {}

    /** Index of the first character that is not allowed in a token, or -1. */
    public static int invalidAt(CharSequence text) {
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            boolean alphanumeric = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
            if (!alphanumeric && "!#$%&'*+-.^_`|~".indexOf(c) < 0) {
                return i;
            }
        }
        return -1;
    }
}
