package io.github.onewrite.netty;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;
import io.netty.handler.codec.http.HttpContent;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpObject;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpResponse;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpStatusClass;
import io.netty.handler.codec.http.HttpUtil;
import io.netty.handler.codec.http.LastHttpContent;
import io.netty.handler.ssl.SslHandler;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/** Above the HTTP codec: stamps the steps that are messages there. */
final class TimingHandler extends ChannelDuplexHandler {
    static final String NAME = "onewrite.timing";

    private final NettyConnection connection;
    private @Nullable Exchange sending;
    private boolean interim;
    private boolean ofTunnel;
    private boolean keepAlive;
    private long received;

    TimingHandler(NettyConnection connection) {
        this.connection = connection;
    }

    /** It is moved when a client replaces its codec. */
    @Override
    public boolean isSharable() {
        return true;
    }

    @Override
    public void write(ChannelHandlerContext ctx, Object message, ChannelPromise promise) {
        if (message instanceof HttpRequest request) {
            boolean tunnel = request.method().equals(HttpMethod.CONNECT)
                    && connection.times().tunnels();
            sending = tunnel ? null : connection.write(hooks -> begin(ctx, hooks, request));
        }
        Exchange exchange = sending;
        if (message instanceof LastHttpContent && exchange != null) {
            sending = null;
            if (exchange.isTimed()) {
                ctx.write(message, promise.unvoid().addListener(exchange));
                return;
            }
        }
        ctx.write(message, promise);
    }

    /** Begins a call for a request that none was begun for; not for a change of protocol. */
    private static OnewriteNetty.@Nullable Call begin(
            ChannelHandlerContext ctx, OnewriteNetty hooks, HttpRequest request) {
        boolean exchange = !request.method().equals(HttpMethod.CONNECT)
                && !request.headers().contains(HttpHeaderNames.UPGRADE);
        if (!exchange || !hooks.wanted()) {
            return null;
        }
        String host = request.headers().get(HttpHeaderNames.HOST, "");
        return hooks.begin(request.method().name(), url(ctx, request.uri(), host));
    }

    private static String url(ChannelHandlerContext ctx, String target, String host) {
        if (!target.startsWith("/")) {
            return target; // in full, for a proxy
        }
        return (ctx.pipeline().get(SslHandler.class) == null ? "http://" : "https://") + host + target;
    }

    /** The same for a head that was encoded before this handler was in its place. */
    static OnewriteNetty.@Nullable Call begin(ChannelHandlerContext ctx, OnewriteNetty hooks, Object encoded) {
        if (!hooks.wanted() || !(encoded instanceof ByteBuf bytes)) {
            return null;
        }
        String[] lines = bytes.toString(StandardCharsets.ISO_8859_1).split("\r\n", -1);
        String[] first = lines[0].split(" ", -1);
        String host = "";
        for (int i = 1; i < lines.length && !lines[i].isEmpty(); i++) {
            if (lines[i].regionMatches(true, 0, "upgrade:", 0, 8)) {
                return null;
            }
            host = lines[i].regionMatches(true, 0, "host:", 0, 5)
                    ? lines[i].substring(5).strip()
                    : host;
        }
        return first.length != 3 || first[0].equals("CONNECT") ? null : hooks.begin(first[0], url(ctx, first[1], host));
    }

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object message) {
        if (message instanceof HttpObject part && part.decoderResult().isFailure()) {
            // What the codec makes of it has status 999.
            connection.malformed(part.decoderResult().cause());
            ctx.fireChannelRead(message);
            return;
        }
        if (message instanceof HttpResponse response) {
            ofTunnel = connection.times().tunnels();
            if (!ofTunnel) {
                head(response);
            }
        }
        if (ofTunnel) {
            // The proxy's answer to the client's own CONNECT. The client adds TLS before fireChannelRead returns.
            ofTunnel = !(message instanceof LastHttpContent);
            ctx.fireChannelRead(message);
            if (message instanceof HttpResponse response && response.status().codeClass() == HttpStatusClass.SUCCESS) {
                connection.times().connected();
            }
            return;
        }
        Exchange ended = null;
        if (message instanceof HttpContent content && !interim) {
            received += content.content().readableBytes();
            if (content instanceof LastHttpContent) {
                ended = connection.responseRead(received, keepAlive);
            }
        }
        long at = connection.lastRead();
        ctx.fireChannelRead(message);
        if (ended != null) {
            // A slow hook delays nobody who waits for the response.
            ended.completed(at);
        }
    }

    private void head(HttpResponse response) {
        interim = response.status().codeClass() == HttpStatusClass.INFORMATIONAL
                && !response.status().equals(HttpResponseStatus.SWITCHING_PROTOCOLS);
        received = 0;
        if (interim) {
            connection.reading().interim(response.status().code());
        } else {
            keepAlive = HttpUtil.isKeepAlive(response);
            connection.head(response.status().code());
        }
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
        connection.error(cause);
        ctx.fireExceptionCaught(cause);
    }
}
