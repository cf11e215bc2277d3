package io.github.onewrite.netty.internal;

import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;
import io.netty.handler.codec.http.HttpContent;
import io.netty.handler.codec.http.HttpObject;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpResponse;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpStatusClass;
import io.netty.handler.codec.http.LastHttpContent;
import org.jspecify.annotations.Nullable;

/** Directly above the HTTP codec, where a hook is set: joins, and reports each message to the connection. */
final class Messages extends Joiner {
    private final NettyConnection connection;

    /** The end of this request was written, and no flush has returned since. */
    private @Nullable Exchange ended;

    private @Nullable ChannelPromise lastWrite;

    Messages(NettySetup setup, ChannelHandlerContext codec, NettyConnection connection) {
        super(setup, codec);
        this.connection = connection;
    }

    @Override
    public void write(ChannelHandlerContext ctx, Object message, ChannelPromise promise) {
        boolean isEnd = isEnd(message);
        HttpRequest head = message instanceof HttpRequest request ? request : null;
        // Netty reports a write without a promise to nobody where the channel is closed.
        boolean isDropped = promise.isVoid() && !ctx.channel().isOpen();
        if ((!isEnd && head == null) || isDropped) {
            super.write(ctx, message, promise);
            return;
        }
        ChannelPromise written = promise.unvoid();
        Exchange exchange = head == null ? connection.writing() : connection.begin(head);
        super.write(ctx, message, written);
        if (exchange == null) {
            return;
        }
        if (written.isDone() && !written.isSuccess()) {
            exchange.operationComplete(written); // The codec refused it.
        } else if (isEnd) {
            connection.written();
            if (ended != null && lastWrite != null) {
                lastWrite.addListener(ended); // Two requests before one flush.
            }
            ended = exchange;
            lastWrite = written;
        }
    }

    @Override
    public void flush(ChannelHandlerContext ctx) {
        super.flush(ctx);
        Exchange exchange = ended;
        ChannelPromise write = lastWrite;
        ended = null;
        lastWrite = null;
        if (exchange == null || write == null) {
            return;
        }
        if (write.isDone()) {
            exchange.operationComplete(write); // Without a listener: most writes are done when their flush returns.
        } else {
            write.addListener(exchange);
        }
    }

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object message) {
        Exchange over = message instanceof HttpObject part ? received(part) : null;
        ctx.fireChannelRead(message);
        if (over != null) {
            connection.deliver(over); // A slow hook delays nobody who waits for the response.
        }
    }

    /** Returns the request that ends with this part of its response. */
    private @Nullable Exchange received(HttpObject part) {
        if (part.decoderResult().isFailure()) {
            return connection.malformed(part.decoderResult().cause()); // The codec passes it on, with status 999.
        }
        if (part instanceof HttpResponse response) {
            HttpResponseStatus status = response.status();
            boolean switches = status.code() == HttpResponseStatus.SWITCHING_PROTOCOLS.code();
            if (switches && connection.upgraded()) {
                return null;
            }
            connection.head(status.code(), !switches && status.codeClass() == HttpStatusClass.INFORMATIONAL);
        }
        if (!connection.isInterim() && part instanceof HttpContent content) {
            connection.body(content.content().readableBytes());
            if (content instanceof LastHttpContent) {
                return connection.complete();
            }
        }
        return null;
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
        connection.error(cause);
        ctx.fireExceptionCaught(cause);
    }

    @Override
    void failedLate(ChannelHandlerContext ctx, Throwable why) {
        connection.error(why);
        super.failedLate(ctx, why);
    }

    @Override
    public void close(ChannelHandlerContext ctx, ChannelPromise promise) {
        connection.closing();
        super.close(ctx, promise);
    }

    @Override
    public void channelInactive(ChannelHandlerContext ctx) {
        ctx.fireChannelInactive();
        connection.closed();
    }
}
