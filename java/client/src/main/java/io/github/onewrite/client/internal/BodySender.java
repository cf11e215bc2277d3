package io.github.onewrite.client.internal;

import io.github.onewrite.OnewriteException;
import io.github.onewrite.client.Proxy;
import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.handler.codec.http.DefaultFullHttpRequest;
import io.netty.handler.codec.http.DefaultHttpRequest;
import io.netty.handler.codec.http.EmptyHttpHeaders;
import io.netty.handler.codec.http.HttpContent;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.codec.http.LastHttpContent;
import io.netty.util.AsciiString;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import org.jspecify.annotations.Nullable;

/**
 * Sends one request. Head and body are written one after the other: {@link io.github.onewrite.netty.CoalesceHandler} sees
 * to it that they leave in one flush.
 */
abstract class BodySender {
    private static final AsciiString PROXY_AUTHORIZATION = HttpHeaderNames.PROXY_AUTHORIZATION;

    final Exchange exchange;
    final ChannelHandlerContext ctx;

    /** Whether pieces are left that the socket may take. */
    private boolean pumping;

    BodySender(Exchange exchange) {
        this.exchange = exchange;
        this.ctx = exchange.connection().context();
    }

    /** The sender for the request's kind of body. */
    static BodySender of(Exchange exchange) {
        BodySource body = exchange.request().body();
        if (body instanceof BodySource.Bytes bytes) {
            return new FixedSender(exchange, bytes);
        }
        if (body instanceof BodySource.OfFile file) {
            return new FileSender(exchange, file);
        }
        return new PublishedSender(exchange, (BodySource.Published) body);
    }

    abstract boolean hasBody();

    /** Sends head and body. */
    void start() throws OnewriteException {
        write(head());
        sendBody();
    }

    /** Sends the body; the head was written before. */
    abstract void sendBody() throws OnewriteException;

    /** The next piece of a body that is pumped; the last is a {@link LastHttpContent}. */
    HttpContent next() throws OnewriteException {
        throw new IllegalStateException("not pumped");
    }

    /** Writes pieces as the socket takes them. */
    final void pump() {
        pumping = true;
        writable();
    }

    /** The channel takes more again. */
    void writable() {
        while (pumping && ctx.channel().isWritable()) {
            HttpContent piece;
            try {
                piece = next();
            } catch (OnewriteException e) {
                exchange.sendFailed(e);
                return;
            }
            if (piece instanceof LastHttpContent) {
                pumping = false;
                writeLast(piece);
                return;
            }
            write(piece);
            exchange.sending();
            if (!ctx.channel().isWritable()) {
                ctx.flush();
            }
        }
    }

    /** Stops sending: the rest of the body is not needed. */
    void cancel() {
        pumping = false;
    }

    /** For Expect: 100-continue, the one case in which the head is to leave alone. */
    final void sendHeadAlone() {
        write(head());
        ctx.flush();
    }

    final void write(Object message) {
        ctx.write(message).addListener(written -> {
            if (!written.isSuccess()) {
                exchange.sendFailed(written.cause());
            }
        });
    }

    final void writeLast(Object message) {
        ctx.writeAndFlush(message).addListener(written -> {
            if (written.isSuccess()) {
                exchange.sent();
            } else {
                exchange.sendFailed(written.cause());
            }
        });
    }

    final HttpRequest full(ByteBuf content) {
        return new DefaultFullHttpRequest(
                HttpVersion.HTTP_1_1,
                exchange.request().method(),
                target(),
                content,
                headers(),
                EmptyHttpHeaders.INSTANCE);
    }

    private HttpRequest head() {
        return new DefaultHttpRequest(HttpVersion.HTTP_1_1, exchange.request().method(), target(), headers());
    }

    final boolean overTls() {
        return exchange.request().target().origin().tls();
    }

    private boolean forwarded() {
        return exchange.settings().proxy() != null && !overTls();
    }

    private String target() {
        Target target = exchange.request().target();
        return forwarded() ? target.absolute() : target.path();
    }

    private HttpHeaders headers() {
        HttpHeaders prepared = exchange.request().headers();
        String authorization = forwarded() ? basic(exchange.settings().proxy()) : null;
        boolean compressed = exchange.settings().decompress() && !prepared.contains(HttpHeaderNames.ACCEPT_ENCODING);
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
