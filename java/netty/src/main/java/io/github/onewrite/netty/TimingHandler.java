package io.github.onewrite.netty;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.codec.http.DefaultFullHttpRequest;
import io.netty.handler.codec.http.DefaultHttpContent;
import io.netty.handler.codec.http.DefaultHttpObject;
import io.netty.handler.codec.http.DefaultHttpRequest;
import io.netty.handler.codec.http.DefaultHttpResponse;
import io.netty.handler.codec.http.DefaultLastHttpContent;
import io.netty.handler.codec.http.HttpChunkedInput;
import io.netty.handler.codec.http.HttpContent;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpRequestDecoder;
import io.netty.handler.codec.http.HttpResponse;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpStatusClass;
import io.netty.handler.codec.http.HttpUtil;
import io.netty.handler.codec.http.LastHttpContent;
import io.netty.handler.codec.http.multipart.HttpPostRequestEncoder;
import org.jspecify.annotations.Nullable;

/** Above the HTTP codec: stamps the steps that are messages there. */
final class TimingHandler extends ChannelDuplexHandler {
    static final String NAME = "onewrite.timing";

    private final NettyConnection connection;
    private boolean interim;
    private boolean ofTunnel;
    private boolean keepAlive;
    private long received;

    TimingHandler(NettyConnection connection) {
        this.connection = connection;
    }

    /** Classes are tested before interfaces, here and in channelRead: that is much cheaper (JDK-8180450). */
    @Override
    public void write(ChannelHandlerContext ctx, Object message, ChannelPromise promise) {
        if (message instanceof DefaultHttpRequest || message instanceof HttpRequest) {
            HttpRequest request = (HttpRequest) message;
            if (!connection.times().tunnels() || !request.method().equals(HttpMethod.CONNECT)) {
                connection.write(request);
            }
        }
        Exchange exchange = connection.writing();
        ctx.write(message, exchange.isTimed() && isEnd(message) ? exchange.last(promise.unvoid()) : promise);
    }

    /** A chunked input of HTTP contents brings its own last content. */
    private static boolean isEnd(Object message) {
        return message instanceof DefaultFullHttpRequest
                || message instanceof LastHttpContent
                || message instanceof HttpChunkedInput
                || message instanceof HttpPostRequestEncoder;
    }

    /**
     * Begins a call for a request that none was begun for; not for a change of protocol.
     *
     * @param head a request, or its bytes where it was encoded before this handler was in its place
     */
    static OnewriteNetty.@Nullable Call begin(NettyConnection connection, OnewriteNetty hooks, Object head) {
        if (!hooks.wanted()) {
            return null;
        }
        Object decoded = head instanceof ByteBuf bytes ? decoded(bytes) : head;
        if (!(decoded instanceof HttpRequest request)
                || request.method().equals(HttpMethod.CONNECT)
                || request.headers().contains(HttpHeaderNames.UPGRADE)) {
            return null;
        }
        // Else the target is the whole URL, for a proxy.
        String origin = request.uri().startsWith("/")
                ? connection.origin(request.headers().get(HttpHeaderNames.HOST, ""))
                : "";
        return hooks.begin(request.method().name(), origin, request.uri(), null, connection.loop());
    }

    private static @Nullable HttpRequest decoded(ByteBuf bytes) {
        EmbeddedChannel decoder = new EmbeddedChannel(new HttpRequestDecoder());
        decoder.writeInbound(bytes.retainedDuplicate());
        HttpRequest request = decoder.readInbound();
        decoder.finishAndReleaseAll();
        return request == null || request.decoderResult().isFailure() ? null : request;
    }

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object message) {
        if (message instanceof DefaultHttpObject part && part.decoderResult().isFailure()) {
            // The codec passes it on with status 999.
            connection.malformed(part.decoderResult().cause());
            ctx.fireChannelRead(message);
            return;
        }
        boolean isContent = message instanceof DefaultHttpContent || message == LastHttpContent.EMPTY_LAST_CONTENT;
        HttpResponse response = message instanceof DefaultHttpResponse known
                ? known
                : !isContent && message instanceof HttpResponse other ? other : null;
        if (response != null) {
            ofTunnel = connection.times().tunnels();
            if (!ofTunnel) {
                head(response);
            }
        }
        if (ofTunnel) {
            // The proxy's answer to the client's own CONNECT. The client adds TLS before fireChannelRead returns.
            ofTunnel = !(message instanceof LastHttpContent);
            ctx.fireChannelRead(message);
            if (response != null && response.status().codeClass() == HttpStatusClass.SUCCESS) {
                connection.times().connected();
            }
            return;
        }
        Exchange ended = null;
        boolean isHead = message.getClass() == DefaultHttpResponse.class;
        if (!interim && (isContent || (!isHead && message instanceof HttpContent))) {
            HttpContent content = (HttpContent) message;
            received += content.content().readableBytes();
            if (message instanceof DefaultLastHttpContent || message instanceof LastHttpContent) {
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
            keepAlive = connection.reading().call().listens() && HttpUtil.isKeepAlive(response);
            connection.head(response.status().code());
        }
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
        connection.error(cause);
        ctx.fireExceptionCaught(cause);
    }
}
