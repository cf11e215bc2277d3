package io.github.onewrite.client;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http.DefaultFullHttpRequest;
import io.netty.handler.codec.http.DefaultHttpHeaders;
import io.netty.handler.codec.http.DefaultHttpRequest;
import io.netty.handler.codec.http.EmptyHttpHeaders;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaderValues;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpVersion;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** A request. Immutable; may be sent any number of times, unless its body is a publisher for one subscriber. */
public final class Request {
    /** A larger body in memory is written in pieces: the transport, or TLS, would copy all of it at once. */
    private static final int WHOLE = 1024 * 1024;

    private static final Set<String> WITH_BODY = Set.of("POST", "PUT", "PATCH");

    private final String method;
    private final String url;
    private final List<String> headers;
    private final Body body;

    /** Parsed when it is sent first. */
    private @Nullable Target target;

    @Nullable
    final Duration timeout;

    @Nullable
    final Object tag;

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

    /** The parts of the URL; throws IllegalArgumentException when it is none of http or https. */
    Target target() {
        Target parsed = target;
        if (parsed == null) {
            parsed = Target.of(url);
            target = parsed;
        }
        return parsed;
    }

    /**
     * The message to send, in Netty's types. What Netty refuses is refused here.
     *
     * @throws IllegalArgumentException for a method or header that cannot be sent
     */
    HttpRequest message(Target target, OnewriteClientBuilder settings) {
        Proxy proxy = target.origin().tls() ? null : settings.proxy;
        HttpMethod verb = HttpMethod.valueOf(method);
        String uri = proxy == null ? target.path() : target.absolute();
        HttpHeaders all = headers(target);
        if (proxy != null && proxy.user() != null && !all.contains(HttpHeaderNames.PROXY_AUTHORIZATION)) {
            byte[] pair = (proxy.user() + ":" + proxy.password()).getBytes(StandardCharsets.UTF_8);
            all.set(
                    HttpHeaderNames.PROXY_AUTHORIZATION,
                    "Basic " + Base64.getEncoder().encodeToString(pair));
        }
        if (settings.decompress && !all.contains(HttpHeaderNames.ACCEPT_ENCODING)) {
            all.set(HttpHeaderNames.ACCEPT_ENCODING, "gzip, deflate");
        }
        ByteBuffer bytes = body.bytes;
        if (bytes == null || bytes.remaining() > WHOLE) {
            return new DefaultHttpRequest(HttpVersion.HTTP_1_1, verb, uri, all);
        }
        ByteBuf content = bytes.hasRemaining() ? Unpooled.wrappedBuffer(bytes) : Unpooled.EMPTY_BUFFER;
        return new DefaultFullHttpRequest(HttpVersion.HTTP_1_1, verb, uri, content, all, EmptyHttpHeaders.INSTANCE);
    }

    private HttpHeaders headers(Target target) {
        HttpHeaders all = new DefaultHttpHeaders().set(HttpHeaderNames.HOST, target.authority());
        for (int i = 0; i < headers.size(); i += 2) {
            if (HttpHeaderNames.HOST.contentEqualsIgnoreCase(headers.get(i))) {
                all.remove(HttpHeaderNames.HOST);
            }
        }
        for (int i = 0; i < headers.size(); i += 2) {
            all.add(headers.get(i), headers.get(i + 1));
        }
        if (body.length > 0 || (body.length == 0 && (WITH_BODY.contains(method) || body.publisher != null))) {
            announce(all, body.length);
        } else if (body.publisher != null && !all.contains(HttpHeaderNames.CONTENT_LENGTH)) {
            all.set(HttpHeaderNames.TRANSFER_ENCODING, HttpHeaderValues.CHUNKED);
        }
        return all;
    }

    /** Sets the length of the body, unless the caller has announced the body. */
    static void announce(HttpHeaders headers, long length) {
        if (!headers.contains(HttpHeaderNames.CONTENT_LENGTH) && !headers.contains(HttpHeaderNames.TRANSFER_ENCODING)) {
            headers.set(HttpHeaderNames.CONTENT_LENGTH, Long.toString(length));
        }
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
