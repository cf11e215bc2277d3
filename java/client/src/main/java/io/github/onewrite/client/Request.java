package io.github.onewrite.client;

import io.github.onewrite.OnewriteException;
import io.github.onewrite.client.internal.BodySource;
import io.github.onewrite.client.internal.Durations;
import io.github.onewrite.client.internal.PreparedRequest;
import io.github.onewrite.client.internal.RequestValidator;
import io.github.onewrite.client.internal.Target;
import io.netty.handler.codec.http.EmptyHttpHeaders;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaderValues;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpMethod;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** A request. Immutable; may be sent any number of times, unless its body is a stream. */
public final class Request {
    /** Methods whose repetition has no further effect (RFC 9110, 9.2.2). */
    private static final Set<String> IDEMPOTENT = Set.of("GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE");

    private static final Set<String> WITH_BODY = Set.of("POST", "PUT", "PATCH");

    private final String method;
    private final String url;
    private final HttpHeaders headers;
    private final Body body;
    private final @Nullable Duration timeout;
    private final @Nullable Object tag;
    private @Nullable PreparedRequest prepared;

    private Request(Builder from) {
        method = from.method;
        url = from.url;
        headers = from.headers == null ? EmptyHttpHeaders.INSTANCE : from.headers;
        body = from.body;
        timeout = from.timeout;
        tag = from.tag;
    }

    public static Builder get(String url) {
        return new Builder("GET", url);
    }

    public static Builder get(URI url) {
        return get(url.toString());
    }

    public static Builder post(String url, Body body) {
        return new Builder("POST", url).body(body);
    }

    public static Builder post(URI url, Body body) {
        return post(url.toString(), body);
    }

    /**
     * A request with any method.
     *
     * @param method as it is to be sent: methods are case-sensitive
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
    Object tag() {
        return tag;
    }

    /** Validates the request and completes its headers. Done once if possible; the race is benign. */
    PreparedRequest prepare() throws OnewriteException {
        PreparedRequest ready = prepared;
        if (ready == null) {
            RequestValidator.checkMethod(method);
            Target target = Target.parse(url);
            HttpHeaders framed =
                    RequestValidator.frame(headers, target.hostHeader(), length(), WITH_BODY.contains(method));
            ready = new PreparedRequest(
                    HttpMethod.valueOf(method),
                    target,
                    framed,
                    body.source(),
                    headers.containsValue(HttpHeaderNames.EXPECT, HttpHeaderValues.CONTINUE, true),
                    headers.containsValue(HttpHeaderNames.CONNECTION, HttpHeaderValues.CLOSE, true),
                    IDEMPOTENT.contains(method) && !(body.source() instanceof BodySource.Published),
                    timeout);
            if (!(body.source() instanceof BodySource.OfFile)) {
                prepared = ready;
            }
        }
        return ready;
    }

    private long length() throws OnewriteException {
        BodySource source = body.source();
        if (source instanceof BodySource.Bytes bytes) {
            return bytes.size();
        }
        if (source instanceof BodySource.OfFile file) {
            return sizeOf(file.path());
        }
        return ((BodySource.Published) source).length();
    }

    private static long sizeOf(Path path) throws OnewriteException {
        try {
            if (!Files.isRegularFile(path)) {
                throw RequestValidator.refused(
                        path + " is not a regular file: use Body.ofPublisher for what may block");
            }
            return Files.size(path);
        } catch (OnewriteException e) {
            throw e;
        } catch (IOException e) {
            throw RequestValidator.refused("the size of " + path + " cannot be read: " + e);
        }
    }

    /** Builds a {@link Request}. Errors in it are reported when it is sent, by the call's future. */
    public static final class Builder {
        private final String method;
        private final String url;
        /** Null while there are none; once built, the request's own. */
        private @Nullable HttpHeaders headers;

        private boolean built;
        private Body body = Body.none();
        private @Nullable Duration timeout;
        private @Nullable Object tag;

        private Builder(String method, String url) {
            this.method = Objects.requireNonNull(method, "method");
            this.url = Objects.requireNonNull(url, "url");
        }

        /** Adds a header; an earlier one of the same name stays. */
        public Builder header(String name, String value) {
            HttpHeaders own = headers;
            if (own == null) {
                own = RequestValidator.unchecked();
            } else if (built) {
                own = own.copy();
            }
            built = false;
            headers = own.add(name, value);
            return this;
        }

        /** Replaces the body; default none. */
        public Builder body(Body of) {
            body = Objects.requireNonNull(of, "body");
            return this;
        }

        /** Time limit of the whole call, from send to the last byte; default: the client's. */
        public Builder timeout(Duration limit) {
            timeout = Durations.positive("timeout", limit);
            return this;
        }

        /** An object of the caller's, handed to timing hooks with the call. */
        public Builder tag(@Nullable Object object) {
            tag = object;
            return this;
        }

        public Request build() {
            built = true;
            return new Request(this);
        }
    }
}
