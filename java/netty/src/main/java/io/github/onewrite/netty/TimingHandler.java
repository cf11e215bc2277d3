package io.github.onewrite.netty;

import io.github.onewrite.spi.TimedCall;
import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;
import io.netty.handler.codec.http.HttpContent;
import io.netty.handler.codec.http.HttpObject;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpResponse;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpStatusClass;
import io.netty.handler.codec.http.LastHttpContent;

/** Above the HTTP codec: stamps the steps that are messages there. */
final class TimingHandler extends ChannelDuplexHandler {
    static final String NAME = "onewrite.timing";

    private final NettyConnection connection;
    private int open; // requests without their response
    private boolean interim;
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
        if (message instanceof HttpRequest request && open++ == 0 && connection.call() == null) {
            connection.begin(request);
        }
        if (connection.call() == null) {
            ctx.write(message, promise);
            return;
        }
        ctx.write(
                message,
                !(message instanceof LastHttpContent)
                        ? promise
                        : promise.unvoid().addListener(done -> {
                            if (done.isSuccess()) {
                                connection.requestSent();
                            }
                        }));
    }

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object message) {
        if (message instanceof HttpObject part && part.decoderResult().isFailure()) {
            // What the codec makes of it has status 999.
            connection.malformed(part.decoderResult().cause());
            ctx.fireChannelRead(message);
            return;
        }
        if (message instanceof HttpResponse && connection.tunnels()) {
            // The proxy's answer to the client's own CONNECT. The client adds TLS before this returns.
            ctx.fireChannelRead(message);
            connection.connected();
            return;
        }
        if (message instanceof HttpResponse response) {
            interim = response.status().codeClass() == HttpStatusClass.INFORMATIONAL
                    && !response.status().equals(HttpResponseStatus.SWITCHING_PROTOCOLS);
            received = 0;
            if (interim) {
                connection.interim(response.status().code());
            } else {
                connection.head(response);
            }
        }
        TimedCall ended = null;
        if (message instanceof HttpContent content && !interim) {
            received += content.content().readableBytes();
            open -= content instanceof LastHttpContent && open > 0 ? 1 : 0;
            ended = content instanceof LastHttpContent ? connection.responseRead(received) : null;
        }
        long at = ended == null ? 0 : System.nanoTime();
        ctx.fireChannelRead(message);
        if (ended != null) {
            // A slow hook delays nobody who waits for the response.
            ended.completed(at);
        }
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
        connection.error(cause);
        ctx.fireExceptionCaught(cause);
    }
}
