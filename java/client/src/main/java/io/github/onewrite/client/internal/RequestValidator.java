package io.github.onewrite.client.internal;

import io.github.onewrite.ErrorKind;
import io.github.onewrite.OnewriteException;
import io.netty.handler.codec.http.DefaultHttpHeadersFactory;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaderValues;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpHeadersFactory;
import java.util.Iterator;
import java.util.List;
import java.util.Map;

/**
 * Refuses requests, before the first byte, that a server could read as another message or as several (RFC 9110, 5.5 and
 * 5.6.2; RFC 9112, 6).
 */
public final class RequestValidator {
    private static final HttpHeadersFactory UNCHECKED =
            DefaultHttpHeadersFactory.headersFactory().withValidation(false);

    private RequestValidator() {}

    /** A method is a token (RFC 9110, 9.1). */
    public static void checkMethod(String method) throws OnewriteException {
        if (!isToken(method)) {
            throw refused("method " + printable(method) + " is not a token: letters, as in POST");
        }
        if (method.equals("CONNECT")) {
            throw refused("CONNECT belongs to the proxy setting of the client, not to a request");
        }
    }

    static void checkHeaders(HttpHeaders headers) throws OnewriteException {
        Iterator<Map.Entry<CharSequence, CharSequence>> each = headers.iteratorCharSequence();
        while (each.hasNext()) {
            Map.Entry<CharSequence, CharSequence> header = each.next();
            CharSequence name = header.getKey();
            if (!isToken(name)) {
                throw refused("header name " + printable(name) + " is not a token");
            }
            CharSequence value = header.getValue();
            for (int i = 0; i < value.length(); i++) {
                char c = value.charAt(i);
                if ((c < ' ' && c != '\t') || c == 0x7f || c > 0xff) {
                    throw refused("header " + name + " has a character that is not allowed at index " + i
                            + ": encode the value");
                }
            }
        }
    }

    /**
     * Checks the caller's framing headers against the body, and adds missing ones.
     *
     * @param length bytes of the body, or -1 when unknown
     * @param bodyExpected whether the method usually has a body, so that an empty one is announced
     */
    public static HttpHeaders frame(HttpHeaders given, String hostHeader, long length, boolean bodyExpected)
            throws OnewriteException {
        if (!given.isEmpty()) {
            checkGiven(given, length);
        }
        HttpHeaders framed = unchecked();
        if (!given.contains(HttpHeaderNames.HOST)) {
            framed.set(HttpHeaderNames.HOST, hostHeader);
        }
        framed.add(given);
        if (length < 0) {
            framed.set(HttpHeaderNames.TRANSFER_ENCODING, HttpHeaderValues.CHUNKED);
        } else if (length > 0 || bodyExpected) {
            framed.set(HttpHeaderNames.CONTENT_LENGTH, Long.toString(length));
        }
        return framed;
    }

    private static void checkGiven(HttpHeaders given, long length) throws OnewriteException {
        checkHeaders(given);
        List<String> lengths = given.getAll(HttpHeaderNames.CONTENT_LENGTH);
        List<String> codings = given.getAll(HttpHeaderNames.TRANSFER_ENCODING);
        if (!lengths.isEmpty() && !codings.isEmpty()) {
            throw refused("both Content-Length and Transfer-Encoding are set: set neither, the client does");
        }
        if (!codings.isEmpty()
                && (length >= 0 || codings.size() > 1 || !codings.get(0).equalsIgnoreCase("chunked"))) {
            throw refused(
                    "Transfer-Encoding is the client's: for a chunked body use Body.ofPublisher without a length");
        }
        if (!lengths.isEmpty()
                && (lengths.size() > 1 || length < 0 || !lengths.get(0).equals(Long.toString(length)))) {
            throw refused("Content-Length " + printable(lengths.toString()) + " is not that of the body, "
                    + (length < 0 ? "which is unknown" : "which is " + length) + ": leave it to the client");
        }
        if (given.getAll(HttpHeaderNames.HOST).size() > 1) {
            throw refused("more than one Host header is set");
        }
    }

    /** Headers without Netty's validation: they are validated here, with better messages. */
    public static HttpHeaders unchecked() {
        return UNCHECKED.newHeaders();
    }

    private static boolean isToken(CharSequence text) {
        return text.length() > 0 && text.chars().allMatch(c -> Character.isLetterOrDigit(c) && c < 128 || "!#$%&'*+-.^_`|~".indexOf(c) >= 0);
    }

    /** The text in quotes for a message, with control characters replaced, and cut at 100 characters. */
    static String printable(CharSequence text) {
        StringBuilder shown = new StringBuilder("\"");
        for (int i = 0; i < Math.min(text.length(), 100); i++) {
            char c = text.charAt(i);
            shown.append(c < ' ' || c == 0x7f ? '?' : c);
        }
        return shown.append(text.length() > 100 ? "…\"" : "\"").toString();
    }

    public static OnewriteException refused(String why) {
        return new OnewriteException(ErrorKind.OTHER, why);
    }
}
