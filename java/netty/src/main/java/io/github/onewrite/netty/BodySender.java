package io.github.onewrite.netty;

import io.github.onewrite.OnewriteException;
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
 * Sends one request. The rule: where body bytes are at hand, the head is never flushed alone; head and what is at hand
 * leave in one flush, which the transport makes one gathering write, and TLS one record when it fits.
 */
abstract class BodySender {
    private static final AsciiString PROXY_AUTHORIZATION = HttpHeaderNames.PROXY_AUTHORIZATION;

    protected final Exchange exchange;
    protected final ChannelHandlerContext ctx;
    private final Call call;
    private final ClientSettings settings;

    protected BodySender(Exchange exchange, Connection connection, Call call, ClientSettings settings) {
        this.exchange = exchange;
        this.ctx = connection.context();
        this.call = call;
        this.settings = settings;
    }

    static BodySender of(Exchange exchange, Connection connection, Call call, ClientSettings settings) {
        Body body = call.request().body();
        if (body instanceof Body.Fixed fixed) {
            return new FixedSender(exchange, connection, call, settings, fixed);
        }
        if (body instanceof Body.OfFile file) {
            return new FileSender(exchange, connection, call, settings, file);
        }
        return new PublishedSender(exchange, connection, call, settings, (Body.Published) body);
    }

    abstract boolean hasBody();

    /** Sends head and body. @return whether a byte may have been handed to the socket when this returns or throws */
    abstract boolean start() throws OnewriteException;

    /** Sends the body after the head was sent alone. */
    abstract void sendBody() throws OnewriteException;

    /** The channel takes more again. */
    void writable() {}

    /** Stops: the rest of the body is not wanted any more. */
    void cancel() {}

    /** For Expect: 100-continue, the one case in which the head is meant to travel alone. */
    void sendHeadAlone() {
        ctx.writeAndFlush(head()).addListener(whenFailed());
    }

    protected final HttpRequest head() {
        return new DefaultHttpRequest(HttpVersion.HTTP_1_1, call.prepared().method(), target(), headers());
    }

    protected final HttpRequest full(ByteBuf content) {
        return new DefaultFullHttpRequest(
                HttpVersion.HTTP_1_1,
                call.prepared().method(),
                target(),
                content,
                headers(),
                EmptyHttpHeaders.INSTANCE);
    }

    /**
     * Writes the head, unflushed. The transport gathers up to twice the send buffer, about 32 KiB, and would send the
     * head alone before a body that does not fit (IovArray, ChannelOutboundBuffer.nioBuffers); so a larger body is cut.
     *
     * @return how many bytes of the body are to follow as a piece of their own, to leave with the head; may be 0
     */
    protected final int writeHead() {
        ctx.write(head()).addListener(whenFailed());
        return (int) Math.max(0, joinable() - exchange.connection().wire().bytes());
    }

    /** Tells the exchange when the last write has returned, or that it failed. */
    protected final ChannelFutureListener whenSent() {
        return written -> {
            if (written.isSuccess()) {
                exchange.sent();
            } else {
                exchange.sendFailed(written.cause());
            }
        };
    }

    protected final ChannelFutureListener whenFailed() {
        return written -> {
            if (!written.isSuccess()) {
                exchange.sendFailed(written.cause());
            }
        };
    }

    /** How much of a body is joined with its head where that takes a copy. */
    protected final int joinable() {
        return settings.config().coalesces() ? settings.config().coalesceMax() : 0;
    }

    protected final boolean coalesces() {
        return settings.config().coalesces();
    }

    protected final boolean overTls() {
        return exchange.origin().tls();
    }

    private boolean forwarded() {
        return settings.proxy() != null && !overTls();
    }

    private String target() {
        Target target = call.prepared().target();
        return forwarded() ? target.absolute() : target.path();
    }

    private HttpHeaders headers() {
        HttpHeaders prepared = call.prepared().headers();
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
