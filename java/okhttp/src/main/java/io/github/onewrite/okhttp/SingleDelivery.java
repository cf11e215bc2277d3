package io.github.onewrite.okhttp;

import java.io.IOException;
import java.util.Set;
import okhttp3.Interceptor;
import okhttp3.MediaType;
import okhttp3.Request;
import okhttp3.RequestBody;
import okio.BufferedSink;
import org.jspecify.annotations.Nullable;

/**
 * Keeps OkHttp from sending a non-idempotent request again after its body began to leave. OkHttp reads the body's
 * {@code isOneShot} when a connection is lost, and again before a follow-up. It is true here
 * only between the two: from the body's first byte to the response. So redirects and authentication work as before.
 */
final class SingleDelivery {
    /** Methods whose repetition has no further effect (RFC 9110, 9.2.2). */
    private static final Set<String> IDEMPOTENT = Set.of("GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE");

    private SingleDelivery() {}

    /** Application interceptor: wraps the body. */
    static Interceptor guard() {
        return chain -> {
            Request request = chain.request();
            RequestBody body = request.body();
            if (body == null || IDEMPOTENT.contains(request.method())) {
                return chain.proceed(request);
            }
            return chain.proceed(request.newBuilder()
                    .method(request.method(), new Guarded(body))
                    .build());
        };
    }

    /** Network interceptor: the response is here, follow-ups are free to use the body. */
    static Interceptor release() {
        return chain -> {
            var response = chain.proceed(chain.request());
            if (chain.request().body() instanceof Guarded guarded) {
                guarded.sending = false;
            }
            return response;
        };
    }

    private static final class Guarded extends RequestBody {
        private final RequestBody body;
        private volatile boolean sending;

        Guarded(RequestBody body) {
            this.body = body;
        }

        @Override
        public boolean isOneShot() {
            return sending || body.isOneShot();
        }

        @Override
        public void writeTo(BufferedSink sink) throws IOException {
            sending = true;
            body.writeTo(sink);
        }

        @Override
        public @Nullable MediaType contentType() {
            return body.contentType();
        }

        @Override
        public long contentLength() throws IOException {
            return body.contentLength();
        }

        @Override
        public boolean isDuplex() {
            return body.isDuplex();
        }
    }
}
