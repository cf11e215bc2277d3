package io.github.onewrite.netty;

import io.github.onewrite.OnewriteException;
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
    private @Nullable Prepared prepared;

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
    Duration timeout() {
        return timeout;
    }

    @Nullable
    Object tag() {
        return tag;
    }

    /** Checks the request and settles its headers. Done once where the body allows; the race is benign. */
    Prepared prepare() throws OnewriteException {
        Prepared ready = prepared;
        if (ready == null) {
            RequestFloor.checkMethod(method);
            Target target = Target.parse(url);
            HttpHeaders framed = RequestFloor.frame(headers, target.hostHeader(), length(), WITH_BODY.contains(method));
            ready = new Prepared(
                    HttpMethod.valueOf(method),
                    target,
                    framed,
                    framed.containsValue(HttpHeaderNames.EXPECT, HttpHeaderValues.CONTINUE, true),
                    framed.containsValue(HttpHeaderNames.CONNECTION, HttpHeaderValues.CLOSE, true),
                    IDEMPOTENT.contains(method) && body.replayable());
            if (!(body instanceof Body.OfFile)) {
                prepared = ready;
            }
        }
        return ready;
    }

    private long length() throws OnewriteException {
        if (body instanceof Body.Fixed fixed) {
            return fixed.size();
        }
        if (body instanceof Body.OfFile file) {
            return sizeOf(file.path());
        }
        return ((Body.Published) body).length();
    }

    private static long sizeOf(Path path) throws OnewriteException {
        try {
            if (!Files.isRegularFile(path)) {
                throw RequestFloor.refused(path + " is not a regular file: use Body.ofPublisher for what may block");
            }
            return Files.size(path);
        } catch (OnewriteException e) {
            throw e;
        } catch (IOException e) {
            throw RequestFloor.refused("the size of " + path + " cannot be read: " + e);
        }
    }

    /**
     * A checked request.
     *
     * @param headers complete, Host and framing included; shared by all sends, so never changed
     * @param expectContinue the body waits for the server's 100
     * @param closes the caller asked for the connection to be closed afterwards
     * @param repeatable idempotent, and the body can be sent again
     */
    record Prepared(
            HttpMethod method,
            Target target,
            HttpHeaders headers,
            boolean expectContinue,
            boolean closes,
            boolean repeatable) {}

    /** Builds a {@link Request}. What is wrong with it is said when it is sent, by the call's future. */
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
                own = RequestFloor.unchecked();
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
