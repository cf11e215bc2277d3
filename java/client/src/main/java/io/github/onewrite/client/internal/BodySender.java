package io.github.onewrite.client.internal;

import io.github.onewrite.OnewriteException;
import io.github.onewrite.client.Proxy;
import io.github.onewrite.netty.ByteCounter;
import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandlerContext;
import io.netty.handler.codec.http.DefaultFullHttpRequest;
import io.netty.handler.codec.http.DefaultHttpRequest;
import io.netty.handler.codec.http.EmptyHttpHeaders;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.util.AsciiString;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import org.jspecify.annotations.Nullable;

/**
 * Sends one request. The rule: where body bytes are available, the head is never flushed alone; both leave
 * in one flush, which the transport makes one gathering write, and TLS one record when it fits.
 */
abstract class BodySender {
    private static final AsciiString PROXY_AUTHORIZATION = HttpHeaderNames.PROXY_AUTHORIZATION;

    final Exchange exchange;
    final ChannelHandlerContext ctx;
    private final ByteCounter counter;
    private final PreparedRequest request;
    private final ClientSettings settings;

    BodySender(Exchange exchange, PreparedRequest request) {
        this.exchange = exchange;
        this.request = request;
        this.ctx = exchange.connection().context();
        this.counter = exchange.connection().counter();
        this.settings = exchange.settings();
    }

    /** The sender for the request's kind of body. */
    static BodySender of(Exchange exchange, PreparedRequest request) {
        BodySource body = request.body();
        if (body instanceof BodySource.Bytes bytes) {
            return new FixedSender(exchange, request, bytes);
        }
        if (body instanceof BodySource.OfFile file) {
            return new FileSender(exchange, request, file);
        }
        return new PublishedSender(exchange, request, (BodySource.Published) body);
    }

    abstract boolean hasBody();

    /** Sends head and body. @return whether a byte may have been handed to the socket when this returns or throws */
    abstract boolean start() throws OnewriteException;

    /** Sends the body after the head was sent alone. */
    abstract void sendBody() throws OnewriteException;

    /** The channel takes more again. */
    void writable() {}

    /** Stops sending: the rest of the body is not needed. */
    void cancel() {}

    /** For Expect: 100-continue, the one case in which the head is to leave alone. */
    void sendHeadAlone() {
        ctx.writeAndFlush(head()).addListener(whenFailed());
    }

    final HttpRequest head() {
        return new DefaultHttpRequest(HttpVersion.HTTP_1_1, request.method(), target(), headers());
    }

    final HttpRequest full(ByteBuf content) {
        return new DefaultFullHttpRequest(
                HttpVersion.HTTP_1_1, request.method(), target(), content, headers(), EmptyHttpHeaders.INSTANCE);
    }

    /**
     * Writes the head, unflushed. The transport gathers up to twice the send buffer, about 32 KiB, and would send the
     * head alone before a body that does not fit (IovArray, ChannelOutboundBuffer.nioBuffers); so a larger body is cut.
     *
     * @return how many bytes of the body are to follow as a piece of their own, to leave with the head; may be 0
     */
    final int writeHead() {
        ctx.write(head()).addListener(whenFailed());
        return (int) Math.max(0, joinable() - counter.bytes());
    }

    /** Tells the exchange when the last write has returned, or that it failed. */
    final ChannelFutureListener whenSent() {
        return written -> {
            if (written.isSuccess()) {
                exchange.sent();
            } else {
                exchange.sendFailed(written.cause());
            }
        };
    }

    final ChannelFutureListener whenFailed() {
        return written -> {
            if (!written.isSuccess()) {
                exchange.sendFailed(written.cause());
            }
        };
    }

    /** How much of a body is joined with its head where that takes a copy. */
    final int joinable() {
        return settings.config().coalesces() ? settings.config().coalesceMax() : 0;
    }

    final boolean coalesces() {
        return settings.config().coalesces();
    }

    final boolean overTls() {
        return request.target().origin().tls();
    }

    private boolean forwarded() {
        return settings.proxy() != null && !overTls();
    }

    private String target() {
        Target target = request.target();
        return forwarded() ? target.absolute() : target.path();
    }

    private HttpHeaders headers() {
        HttpHeaders prepared = request.headers();
        String authorization = forwarded() ? basic(settings.proxy()) : null;
        boolean compressed = settings.decompress() && !prepared.contains(HttpHeaderNames.ACCEPT_ENCODING);
        if (authorization == null && !compressed) {
            return prepared;
        }
        HttpHeaders headers = prepared.copy();
        if (authorization != null && !headers.contains(PROXY_AUTHORIZATION)) {
            headers.set(PROXY_AUTHORIZATION, authorization);
        }
        if (compressed) {
            headers.set(HttpHeaderNames.ACCEPT_ENCODING, "gzip, deflate");
        }
        return headers;
    }

    private static @Nullable String basic(@Nullable Proxy proxy) {
        if (proxy == null || proxy.user() == null) {
            return null;
        }
        byte[] pair = (proxy.user() + ":" + proxy.password()).getBytes(StandardCharsets.UTF_8);
        return "Basic " + Base64.getEncoder().encodeToString(pair);
    }
}
