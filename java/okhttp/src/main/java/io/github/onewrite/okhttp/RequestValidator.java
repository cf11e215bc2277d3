package io.github.onewrite.okhttp;

import io.github.onewrite.ErrorKind;
import io.github.onewrite.OnewriteException;
import io.github.onewrite.spi.Tokens;
import okhttp3.Headers;
import okhttp3.Interceptor;
import okhttp3.Request;

/**
 * Refuses methods and header names that are no tokens (RFC 9110, 5.6.2). OkHttp checks header values, but sends a line
 * break in a method as it is: a second request.
 */
final class RequestValidator {
    private RequestValidator() {}

    static Interceptor interceptor() {
        return chain -> {
            Request request = chain.request();
            check("method", request.method());
            Headers headers = request.headers();
            for (int i = 0; i < headers.size(); i++) {
                check("header name", headers.name(i));
            }
            return chain.proceed(request);
        };
    }

    private static void check(String what, String text) throws OnewriteException {
        int at = Tokens.invalidAt(text);
        if (at >= 0) {
            throw new OnewriteException(
                    ErrorKind.INVALID_REQUEST,
                    what + " has a character that is not allowed at index " + at + ": letters, digits and hyphens");
        }
    }
}
