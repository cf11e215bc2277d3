package io.github.onewrite.driver;

import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelOption;
import io.netty.channel.ChannelPipeline;
import io.netty.channel.DefaultFileRegion;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.channel.epoll.Epoll;
import io.netty.channel.epoll.EpollIoHandler;
import io.netty.channel.epoll.EpollSocketChannel;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.pool.AbstractChannelPoolHandler;
import io.netty.channel.pool.ChannelHealthChecker;
import io.netty.channel.pool.FixedChannelPool;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.netty.handler.codec.CodecException;
import io.netty.handler.codec.DecoderException;
import io.netty.handler.codec.PrematureChannelClosureException;
import io.netty.handler.codec.http.DefaultHttpContent;
import io.netty.handler.codec.http.DefaultHttpRequest;
import io.netty.handler.codec.http.DefaultLastHttpContent;
import io.netty.handler.codec.http.HttpChunkedInput;
import io.netty.handler.codec.http.HttpClientCodec;
import io.netty.handler.codec.http.HttpContent;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpObject;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpResponse;
import io.netty.handler.codec.http.HttpUtil;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.codec.http.LastHttpContent;
import io.netty.handler.proxy.HttpProxyHandler;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslHandler;
import io.netty.handler.stream.ChunkedNioFile;
import io.netty.handler.stream.ChunkedStream;
import io.netty.handler.stream.ChunkedWriteHandler;
import io.netty.util.concurrent.Future;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.SocketTimeoutException;
import java.net.URI;
import java.nio.channels.FileChannel;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;

/**
 * Netty as an application uses it: HttpClientCodec and FixedChannelPool, one flush for a request whose parts are at hand.
 * The own client's stock, so it has the same parts: what is compared is how they are joined.
 */
final class BareNetty extends Client {
    /** TLS encrypts all of a larger message before it writes: it is cut. */
    private static final int LARGE = 1024 * 1024;

    private static final Set<String> WITH_BODY = Set.of("POST", "PUT", "PATCH");

    private final boolean control;
    private final boolean epoll;
    private final EventLoopGroup group;
    private final Map<String, FixedChannelPool> pools = new ConcurrentHashMap<>();

    /** @param control Nagle on; head and body are flushed apart */
    BareNetty(Options options, boolean control) {
        super(options);
        this.control = control;
        this.epoll = options.api().equals("netty") && !options.customConnector() && Epoll.isAvailable();
        this.group =
                new MultiThreadIoEventLoopGroup(1, epoll ? EpollIoHandler.newFactory() : NioIoHandler.newFactory());
    }

    @Override
    Runnable start(Call call, Recording none, Reply reply, CompletableFuture<Reply> done) {
        Exchange exchange = new Exchange(call, reply, done);
        try {
            exchange.prepare();
            FixedChannelPool pool = pools.computeIfAbsent(exchange.origin(), origin -> open(exchange));
            if (call.timeoutMs() >= 0) {
                group.next()
                        .schedule(
                                () -> exchange.fail(new SocketTimeoutException("the call was not over")),
                                call.timeoutMs(),
                                TimeUnit.MILLISECONDS);
            }
            pool.acquire().addListener((Future<Channel> acquired) -> {
                if (acquired.isSuccess()) {
                    exchange.run(acquired.getNow(), pool);
                } else {
                    exchange.fail(acquired.cause());
                }
            });
        } catch (Skip e) {
            throw e;
        } catch (RuntimeException e) {
            exchange.fail(e);
        }
        return () -> group.next().execute(exchange::cancel);
    }

    private FixedChannelPool open(Exchange first) {
        SslContext context = first.tls ? options.sslContext() : null;
        InetSocketAddress origin = InetSocketAddress.createUnresolved(first.host, first.port);
        Bootstrap bootstrap = new Bootstrap()
                .group(group)
                .channel(epoll ? EpollSocketChannel.class : NioSocketChannel.class)
                .remoteAddress(options.proxy() != null && !first.tls ? options.proxy() : origin);
        if (control || options.customConnector()) {
            bootstrap.option(ChannelOption.TCP_NODELAY, false);
        }
        if (options.connectTimeoutMs() > 0) {
            bootstrap.option(ChannelOption.CONNECT_TIMEOUT_MILLIS, options.connectTimeoutMs());
        }
        options.socketOptions().forEach(bootstrap::option);
        return new FixedChannelPool(
                bootstrap,
                new AbstractChannelPoolHandler() {
                    @Override
                    public void channelCreated(Channel channel) {
                        ChannelPipeline pipeline = channel.pipeline();
                        if (context != null && options.proxy() != null) {
                            pipeline.addLast(new HttpProxyHandler(options.proxy()));
                        }
                        if (context != null) {
                            SslHandler secure = context.newHandler(channel.alloc(), first.host, first.port);
                            if (options.connectTimeoutMs() > 0) {
                                secure.setHandshakeTimeoutMillis(options.connectTimeoutMs());
                            }
                            pipeline.addLast(secure);
                        }
                        pipeline.addLast(
                                new HttpClientCodec(4096, 32768, 8192, true), new ChunkedWriteHandler(), new Inbound());
                    }
                },
                ChannelHealthChecker.ACTIVE,
                FixedChannelPool.AcquireTimeoutAction.FAIL,
                options.poolTimeoutMs() > 0 ? options.poolTimeoutMs() : TimeUnit.MINUTES.toMillis(1),
                options.poolSize(),
                10_000,
                true,
                true);
    }

    @Override
    public void close() {
        pools.values().forEach(FixedChannelPool::closeAsync);
        group.shutdownGracefully(0, 1, TimeUnit.SECONDS);
    }

    /** One call. */
    private final class Exchange {
        private final Call call;
        private final Reply reply;
        private final CompletableFuture<Reply> done;
        private boolean tls;
        private String host;
        private int port;
        private HttpRequest head;
        private volatile Channel channel;
        private FixedChannelPool pool;
        private Inbound inbound;
        private boolean interim;
        private boolean keepAlive;
        private boolean sent;
        private boolean complete;
        private volatile boolean over;

        Exchange(Call call, Reply reply, CompletableFuture<Reply> done) {
            this.call = call;
            this.reply = reply;
            this.done = done;
        }

        String origin() {
            return tls + " " + host + " " + port;
        }

        void prepare() {
            URI uri = URI.create(call.url());
            tls = "https".equalsIgnoreCase(uri.getScheme());
            if (uri.getHost() == null || (!tls && !"http".equalsIgnoreCase(uri.getScheme()))) {
                throw new IllegalArgumentException("no URL of http or https");
            }
            String authority =
                    uri.getRawAuthority().substring(uri.getRawAuthority().lastIndexOf('@') + 1);
            host = uri.getHost().replaceAll("[\\[\\]]", "");
            port = uri.getPort() < 0 ? (tls ? 443 : 80) : uri.getPort();
            String path = (uri.getRawPath().isEmpty() ? "/" : uri.getRawPath())
                    + (uri.getRawQuery() == null ? "" : "?" + uri.getRawQuery());
            boolean absolute = options.proxy() != null && !tls;
            head = new DefaultHttpRequest(
                    HttpVersion.HTTP_1_1,
                    HttpMethod.valueOf(call.method()),
                    absolute ? "http://" + authority + path : path);
            HttpHeaders headers = head.headers();
            if (!call.hasHeader("host")) {
                headers.set(HttpHeaderNames.HOST, authority);
            }
            call.headers().forEach(each -> headers.add(each.getKey(), each.getValue()));
            if (!options.keepalive()) {
                headers.add("Connection", "close");
            }
            long length = call.body().length();
            if (call.hasHeader("content-length") || call.hasHeader("transfer-encoding")) {
                return;
            }
            boolean streamed = call.body() instanceof Payload.Stream || call.body() instanceof Payload.OpenFile;
            if (length > 0 || (length == 0 && (streamed || WITH_BODY.contains(call.method())))) {
                headers.set(HttpHeaderNames.CONTENT_LENGTH, Long.toString(length));
            } else if (length < 0) {
                HttpUtil.setTransferEncodingChunked(head, true);
            }
        }

        void run(Channel acquired, FixedChannelPool from) {
            channel = acquired;
            pool = from;
            if (over) {
                from.release(acquired);
                return;
            }
            inbound = acquired.pipeline().get(Inbound.class);
            inbound.current = this;
            HttpProxyHandler tunnel = acquired.pipeline().get(HttpProxyHandler.class);
            SslHandler secure = acquired.pipeline().get(SslHandler.class);
            after(
                    tunnel == null ? acquired.eventLoop().newSucceededFuture(acquired) : tunnel.connectFuture(),
                    () -> after(
                            secure == null ? acquired.newSucceededFuture() : secure.handshakeFuture(), this::write));
        }

        private void after(Future<?> step, Runnable next) {
            step.addListener(ended -> {
                if (!ended.isSuccess()) {
                    fail(ended.cause());
                } else if (!over) {
                    next.run();
                }
            });
        }

        private void write() {
            try {
                Payload body = call.body();
                if (body instanceof Payload.OpenFile file) {
                    write(file);
                } else if (body instanceof Payload.Stream stream) {
                    put(head);
                    chunk(stream, 0);
                } else {
                    byte[] bytes = body instanceof Payload.Memory memory ? memory.bytes() : new byte[0];
                    put(head);
                    last(
                            bytes.length > LARGE
                                    ? new HttpChunkedInput(
                                            new ChunkedStream(new ByteArrayInputStream(bytes), LARGE / 4))
                                    : new DefaultLastHttpContent(Unpooled.wrappedBuffer(bytes)));
                }
            } catch (Exception e) {
                fail(e);
            }
        }

        private void write(Payload.OpenFile file) throws IOException {
            FileChannel open = FileChannel.open(file.path());
            put(head);
            if (tls) {
                last(new HttpChunkedInput(new ChunkedNioFile(open)));
            } else {
                put(new DefaultFileRegion(open, 0, file.size()));
                last(LastHttpContent.EMPTY_LAST_CONTENT);
            }
        }

        private void chunk(Payload.Stream stream, int index) {
            if (index == stream.chunks().size()) {
                last(LastHttpContent.EMPTY_LAST_CONTENT);
                return;
            }
            put(new DefaultHttpContent(Unpooled.wrappedBuffer(stream.chunks().get(index))));
            channel.flush();
            if (stream.gapMs() > 0 && index + 1 < stream.chunks().size()) {
                channel.eventLoop().schedule(() -> chunk(stream, index + 1), stream.gapMs(), TimeUnit.MILLISECONDS);
            } else {
                chunk(stream, index + 1);
            }
        }

        private void put(Object part) {
            channel.write(part).addListener(this::failed);
            if (control) {
                channel.flush();
            }
        }

        private void last(Object part) {
            channel.writeAndFlush(part).addListener(written -> {
                sent = written.isSuccess();
                failed(written);
            });
        }

        private void failed(Future<? super Void> write) {
            if (!write.isSuccess()) {
                fail(write.cause());
            }
        }

        void fail(Throwable cause) {
            if (!over) {
                leave(reply.failed(cause), false);
            }
        }

        void cancel() {
            if (!over) {
                leave(reply.cancelled(), false);
            }
        }

        /** Gives the channel back, or closes it, and then ends the call. */
        void leave(Reply with, boolean keep) {
            if (over) {
                return;
            }
            over = true;
            if (channel != null) {
                inbound.current = null;
                if (!keep) {
                    channel.close();
                }
                pool.release(channel);
            }
            done.complete(with);
        }

        void read(HttpObject part) {
            if (complete) {
                keepAlive = false; // bytes that belong to no request
                return;
            }
            Throwable malformed = part.decoderResult().cause();
            if (malformed != null) {
                fail(malformed instanceof CodecException ? malformed : new DecoderException(malformed));
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
                keepAlive = HttpUtil.isKeepAlive(response) && HttpUtil.isKeepAlive(head) && status != 101;
                if (!call.read()) {
                    leave(reply, false);
                    return;
                }
            }
            if (part instanceof HttpContent content && !interim) {
                reply.body(ByteBufUtil.getBytes(content.content()));
                complete = part instanceof LastHttpContent;
            }
        }

        void readComplete() {
            if (complete && !over) {
                leave(reply, keepAlive && sent);
            }
        }

        void closed() {
            readComplete();
            fail(new PrematureChannelClosureException("closed before the response was complete"));
        }
    }

    /** Gives what a channel reads to the call that uses it. */
    private static final class Inbound extends SimpleChannelInboundHandler<HttpObject> {
        private Exchange current;

        @Override
        protected void channelRead0(ChannelHandlerContext ctx, HttpObject part) {
            if (current == null) {
                ctx.close();
            } else {
                current.read(part);
            }
        }

        @Override
        public void channelReadComplete(ChannelHandlerContext ctx) {
            if (current != null) {
                current.readComplete();
            }
        }

        @Override
        public void channelInactive(ChannelHandlerContext ctx) {
            if (current != null) {
                current.closed();
            }
        }

        @Override
        public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
            if (current == null) {
                ctx.close();
            } else {
                current.fail(cause);
            }
        }
    }
}
