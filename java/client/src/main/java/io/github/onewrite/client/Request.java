package io.github.onewrite.client;

import io.netty.handler.codec.http.DefaultHttpHeaders;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaderValues;
import io.netty.handler.codec.http.HttpHeaders;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** A request. Immutable; may be sent any number of times, unless its body is a publisher for one subscriber. */
public final class Request {
    private static final Set<String> WITH_BODY = Set.of("POST", "PUT", "PATCH");

    private final String method;
    private final String url;
    private final List<String> headers;
    private final Body body;
    private final @Nullable Duration timeout;
    private final @Nullable Object tag;

    private Request(Builder from) {
        method = from.method;
        url = from.url;
        headers = List.copyOf(from.headers);
        body = from.body;
        timeout = from.timeout;
        tag = from.tag;
    }

    public static Builder get(String url) {
        return new Builder("GET", url);
    }

    public static Builder post(String url, Body body) {
        return new Builder("POST", url).body(body);
    }

    /**
     * A request with any method.
     *
     * @param method as it is sent: methods are case-sensitive
     */
    public static Builder method(String method, String url) {
        return new Builder(method, url);
    }

    public String method() {
        return method;
    }

    public String url() {
        return url;
    }

    public Body body() {
        return body;
    }

    @Nullable
    Duration timeout() {
        return timeout;
    }

    @Nullable
    Object tag() {
        return tag;
    }

    /** The headers to send, in a new object. */
    HttpHeaders headers(Target target) {
        HttpHeaders all = new DefaultHttpHeaders().set(HttpHeaderNames.HOST, target.authority());
        if (!headers.isEmpty()) {
            HttpHeaders given = new DefaultHttpHeaders();
            for (int i = 0; i < headers.size(); i += 2) {
                given.add(headers.get(i), headers.get(i + 1));
            }
            if (given.contains(HttpHeaderNames.HOST)) {
                all.clear();
            }
            all.add(given);
        }
        if (all.contains(HttpHeaderNames.CONTENT_LENGTH) || all.contains(HttpHeaderNames.TRANSFER_ENCODING)) {
            return all;
        }
        if (body.length > 0 || (body.length == 0 && (WITH_BODY.contains(method) || body.publisher != null))) {
            all.set(HttpHeaderNames.CONTENT_LENGTH, Long.toString(body.length));
        } else if (body.publisher != null) {
            all.set(HttpHeaderNames.TRANSFER_ENCODING, HttpHeaderValues.CHUNKED);
        }
        return all;
    }

    /** Builds a {@link Request}. What is wrong in it is reported by the future of the call. */
    public static final class Builder {
        private final String method;
        private final String url;

        /** Names and values in turn. */
        private List<String> headers = List.of();

        private Body body = Body.none();
        private @Nullable Duration timeout;
        private @Nullable Object tag;

        private Builder(String method, String url) {
            this.method = Objects.requireNonNull(method, "method");
            this.url = Objects.requireNonNull(url, "url");
        }

        /**
         * Adds a header; an earlier one of the same name stays. Host, Content-Length and Transfer-Encoding given here
         * replace the client's own.
         */
        public Builder header(String name, String value) {
            if (headers.isEmpty()) {
                headers = new ArrayList<>();
            }
            headers.add(Objects.requireNonNull(name, "name"));
            headers.add(Objects.requireNonNull(value, "value"));
            return this;
        }

        /** Replaces the body; default none. */
        public Builder body(Body of) {
            body = Objects.requireNonNull(of, "body");
            return this;
        }

        /** Time limit of the whole call, from send to the last byte; default: the client's. */
        public Builder timeout(Duration limit) {
            if (limit.isZero() || limit.isNegative()) {
                throw new IllegalArgumentException("timeout must be longer than 0, not " + limit);
            }
            timeout = limit;
            return this;
        }

        /** An object of the caller's. Timing hooks get it with the call. */
        public Builder tag(@Nullable Object object) {
            tag = object;
            return this;
        }

        public Request build() {
            return new Request(this);
        }
    }
}
