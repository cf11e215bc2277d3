package io.github.onewrite.driver;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.EventLoop;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.channel.pool.ChannelPool;
import io.netty.handler.codec.PrematureChannelClosureException;
import io.netty.handler.codec.http.DefaultFullHttpRequest;
import io.netty.handler.codec.http.DefaultHttpContent;
import io.netty.handler.codec.http.DefaultHttpRequest;
import io.netty.handler.codec.http.DefaultLastHttpContent;
import io.netty.handler.codec.http.HttpChunkedInput;
import io.netty.handler.codec.http.HttpContent;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpObject;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpResponse;
import io.netty.handler.codec.http.HttpUtil;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.codec.http.LastHttpContent;
import io.netty.handler.codec.http.multipart.DefaultHttpDataFactory;
import io.netty.handler.codec.http.multipart.HttpPostRequestEncoder;
import io.netty.handler.codec.http.multipart.MemoryFileUpload;
import io.netty.handler.stream.ChunkedFile;
import io.netty.util.AttributeKey;
import java.io.IOException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** One call on a bare Netty channel. */
final class BareExchange {
    private static final AttributeKey<BareExchange> CURRENT = AttributeKey.valueOf(BareExchange.class, "current");

    private final Call call;
    private final Options options;
    private final boolean split;
    private final Reply reply;
    private final CompletableFuture<Reply> done = new CompletableFuture<>();
    private volatile Channel channel;
    private ChannelPool pool;
    private boolean keepAlive;
    private boolean interim;

    BareExchange(Call call, Options options, boolean split) {
        this.call = call;
        this.options = options;
        this.split = split;
        this.reply = new Reply(call);
    }

    CompletableFuture<Reply> reply() {
        return done;
    }

    void startLimits(EventLoop loop) {
        if (call.timeoutMs() > 0) {
            loop.schedule(
                    () -> fail(new TimeoutException("no answer in " + call.timeoutMs() + " ms")),
                    call.timeoutMs(),
                    TimeUnit.MILLISECONDS);
        }
        if (call.cancelAfterMs() >= 0) {
            loop.schedule(() -> giveUp(reply.cancelled()), call.cancelAfterMs(), TimeUnit.MILLISECONDS);
        }
    }

    void run(Channel acquired, ChannelPool from) {
        channel = acquired;
        pool = from;
        if (done.isDone()) {
            from.release(acquired);
            return;
        }
        acquired.attr(CURRENT).set(this);
        try {
            write(acquired);
        } catch (Exception e) {
            fail(e);
        }
    }

    void fail(Throwable cause) {
        if (!done.isDone()) {
            // A real client's caller would see the error and nothing of the response.
            reply.status = null;
            giveUp(reply.failed(cause, Errors.kind(cause), null));
        }
    }

    private void giveUp(Reply with) {
        Channel used = channel;
        if (used != null && !done.isDone()) {
            used.attr(CURRENT).set(null);
            used.close();
            pool.release(used);
        }
        done.complete(with);
    }

    private void write(Channel to) throws Exception {
        URI uri = call.uri();
        boolean absolute = options.proxy() != null && uri.getScheme().equals("http");
        String path = uri.getRawPath() == null || uri.getRawPath().isEmpty() ? "/" : uri.getRawPath();
        String target = absolute ? uri.toString() : uri.getRawQuery() == null ? path : path + "?" + uri.getRawQuery();
        HttpRequest head = new DefaultHttpRequest(HttpVersion.HTTP_1_1, HttpMethod.valueOf(call.method()), target);
        head.headers().set(HttpHeaderNames.HOST, uri.getRawAuthority());
        call.headers().forEach(each -> head.headers().add(each.getKey(), each.getValue()));
        Payload body = call.body();
        if (body instanceof Payload.Memory memory) {
            full(to, head, memory.bytes(), true);
        } else if (body instanceof Payload.OpenFile file) {
            file(to, head, file);
        } else if (body instanceof Payload.Form form) {
            form(to, head, form);
        } else if (body instanceof Payload.Multipart multipart) {
            multipart(to, head, multipart);
        } else if (body instanceof Payload.Stream stream) {
            stream(to, head, stream);
        } else {
            full(to, head, new byte[0], !call.method().equals("GET"));
        }
    }

    private void full(Channel to, HttpRequest head, byte[] body, boolean length) {
        if (length) {
            head.headers().set(HttpHeaderNames.CONTENT_LENGTH, body.length);
        }
        ByteBuf content = Unpooled.wrappedBuffer(body);
        if (split) {
            to.writeAndFlush(head);
            to.writeAndFlush(new DefaultLastHttpContent(content)).addListener(this::written);
            return;
        }
        var request = new DefaultFullHttpRequest(head.protocolVersion(), head.method(), head.uri(), content);
        request.headers().set(head.headers());
        to.writeAndFlush(request).addListener(this::written);
    }

    private void file(Channel to, HttpRequest head, Payload.OpenFile file) throws IOException {
        head.headers().set(HttpHeaderNames.CONTENT_LENGTH, file.size());
        head(to, head);
        to.writeAndFlush(new HttpChunkedInput(new ChunkedFile(file.path().toFile())))
                .addListener(this::written);
    }

    private void form(Channel to, HttpRequest head, Payload.Form form) throws Exception {
        HttpPostRequestEncoder encoder = new HttpPostRequestEncoder(head, false);
        for (var field : form.fields()) {
            encoder.addBodyAttribute(field.getKey(), field.getValue());
        }
        encoded(to, encoder);
    }

    private void multipart(Channel to, HttpRequest head, Payload.Multipart multipart) throws Exception {
        HttpPostRequestEncoder encoder = new HttpPostRequestEncoder(new DefaultHttpDataFactory(false), head, true);
        for (Payload.Part part : multipart.parts()) {
            if (part.fileName() == null) {
                encoder.addBodyAttribute(part.name(), part.value());
            } else {
                MemoryFileUpload upload = new MemoryFileUpload(
                        part.name(),
                        part.fileName(),
                        "application/octet-stream",
                        null,
                        StandardCharsets.UTF_8,
                        part.content().length);
                upload.setContent(Unpooled.wrappedBuffer(part.content()));
                encoder.addBodyHttpData(upload);
            }
        }
        encoded(to, encoder);
    }

    /** As in Netty's documentation: the finalized request, then the encoder if the body is chunked. */
    private void encoded(Channel to, HttpPostRequestEncoder encoder) throws Exception {
        HttpRequest request = encoder.finalizeRequest();
        if (encoder.isChunked()) {
            head(to, request);
            to.writeAndFlush(encoder).addListener(this::written);
        } else if (split && request instanceof HttpContent content) {
            HttpRequest head = new DefaultHttpRequest(request.protocolVersion(), request.method(), request.uri());
            head.headers().set(request.headers());
            to.writeAndFlush(head);
            to.writeAndFlush(new DefaultLastHttpContent(content.content())).addListener(this::written);
        } else {
            to.writeAndFlush(request).addListener(this::written);
        }
    }

    private void stream(Channel to, HttpRequest head, Payload.Stream stream) {
        if (stream.declaredSize() >= 0) {
            head.headers().set(HttpHeaderNames.CONTENT_LENGTH, stream.declaredSize());
        } else {
            HttpUtil.setTransferEncodingChunked(head, true);
        }
        head(to, head);
        chunk(to, stream, 0);
    }

    private void chunk(Channel to, Payload.Stream stream, int index) {
        if (index == stream.chunks().size()) {
            to.writeAndFlush(LastHttpContent.EMPTY_LAST_CONTENT).addListener(this::written);
            return;
        }
        to.writeAndFlush(
                new DefaultHttpContent(Unpooled.wrappedBuffer(stream.chunks().get(index))));
        if (stream.gapMs() > 0 && index + 1 < stream.chunks().size()) {
            to.eventLoop().schedule(() -> chunk(to, stream, index + 1), stream.gapMs(), TimeUnit.MILLISECONDS);
        } else {
            chunk(to, stream, index + 1);
        }
    }

    private void head(Channel to, HttpRequest head) {
        if (split) {
            to.writeAndFlush(head);
        } else {
            to.write(head);
        }
    }

    private void written(io.netty.util.concurrent.Future<? super Void> write) {
        if (!write.isSuccess()) {
            fail(write.cause());
        }
    }

    private void read(HttpObject part) {
        if (part.decoderResult().isFailure()) {
            fail(part.decoderResult().cause());
            return;
        }
        if (part instanceof HttpResponse response) {
            int status = response.status().code();
            interim = status < 200 && status != 101;
            if (interim) {
                return;
            }
            reply.status = status;
            reply.headers = response.headers().entries();
            keepAlive = HttpUtil.isKeepAlive(response) && options.keepalive();
            if (!call.read()) {
                giveUp(reply);
                return;
            }
        }
        if (part instanceof HttpContent content && !interim) {
            reply.body(ByteBufUtil.getBytes(content.content()));
            if (part instanceof LastHttpContent) {
                finish();
            }
        }
    }

    private void finish() {
        Channel used = channel;
        used.attr(CURRENT).set(null);
        if (!keepAlive) {
            used.close();
        }
        pool.release(used).addListener(released -> done.complete(reply));
    }

    /** Routes what a channel reads to the call that holds it. */
    static final class Inbound extends SimpleChannelInboundHandler<HttpObject> {
        @Override
        protected void channelRead0(ChannelHandlerContext ctx, HttpObject part) {
            BareExchange current = ctx.channel().attr(CURRENT).get();
            if (current == null) {
                ctx.close();
            } else {
                current.read(part);
            }
        }

        @Override
        public void channelInactive(ChannelHandlerContext ctx) {
            BareExchange current = ctx.channel().attr(CURRENT).get();
            if (current != null) {
                current.fail(new PrematureChannelClosureException("closed before the response was complete"));
            }
        }

        @Override
        public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
            BareExchange current = ctx.channel().attr(CURRENT).get();
            if (current != null) {
                current.fail(cause);
            }
            ctx.close();
        }
    }
}
