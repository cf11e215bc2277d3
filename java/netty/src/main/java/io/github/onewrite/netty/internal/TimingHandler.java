package io.github.onewrite.netty.internal;

import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;
import io.netty.handler.codec.http.DefaultFullHttpRequest;
import io.netty.handler.codec.http.DefaultHttpContent;
import io.netty.handler.codec.http.DefaultHttpObject;
import io.netty.handler.codec.http.DefaultHttpResponse;
import io.netty.handler.codec.http.DefaultLastHttpContent;
import io.netty.handler.codec.http.HttpContent;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpResponse;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpStatusClass;
import io.netty.handler.codec.http.HttpUtil;
import io.netty.handler.codec.http.LastHttpContent;

/** Directly above the HTTP codec: joins, and stamps the steps that are messages there. */
final class TimingHandler extends Joiner {
    private final NettyConnection connection;
    private boolean interim;
    private boolean ofTunnel;
    private boolean keepAlive;
    private long received;

    TimingHandler(NettyConnection connection, Placement placement, int joinMax) {
        super(placement, joinMax);
        this.connection = connection;
    }

    @Override
    public void write(ChannelHandlerContext ctx, Object message, ChannelPromise promise) {
        if (isHead(message)) {
            HttpRequest request = (HttpRequest) message;
            if (!connection.isTunnel(request)) {
                if (connection.moves(ctx)) {
                    ctx.write(message, promise);
                    return;
                }
                connection.write(request);
            }
        }
        boolean end = message instanceof DefaultFullHttpRequest || message instanceof LastHttpContent;
        super.write(ctx, message, end ? connection.writing().last(promise) : promise);
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
            ofTunnel = connection.connect.tunnels;
            if (!ofTunnel) {
                head(response);
            }
        }
        if (ofTunnel) {
            // The proxy's answer to the client's own CONNECT. The client adds TLS before fireChannelRead returns.
            ofTunnel = !(message instanceof LastHttpContent);
            ctx.fireChannelRead(message);
            if (response != null && response.status().codeClass() == HttpStatusClass.SUCCESS) {
                connection.connect.connected();
            }
            return;
        }
        Exchange ended = null;
        boolean isHead = message.getClass() == DefaultHttpResponse.class;
        if (response != null && response.status().equals(HttpResponseStatus.SWITCHING_PROTOCOLS)) {
            // The client may replace the codec now, and then there is no last content.
            ended = connection.responseRead(0, false);
        } else if (!interim && (isContent || (!isHead && message instanceof HttpContent))) {
            received += ((HttpContent) message).content().readableBytes();
            if (message instanceof DefaultLastHttpContent || message instanceof LastHttpContent) {
                ended = connection.responseRead(received, keepAlive);
            }
        }
        long at = connection.lastRead;
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
            connection.head(response);
        }
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
        connection.error(cause);
        ctx.fireExceptionCaught(cause);
    }
}
