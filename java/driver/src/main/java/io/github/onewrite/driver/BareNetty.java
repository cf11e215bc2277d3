package io.github.onewrite.driver;

import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
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
import io.netty.channel.pool.ChannelPool;
import io.netty.channel.pool.ChannelPoolHandler;
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
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpObject;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpResponse;
import io.netty.handler.codec.http.HttpStatusClass;
import io.netty.handler.codec.http.HttpUtil;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.codec.http.LastHttpContent;
import io.netty.handler.proxy.HttpProxyHandler;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslHandler;
import io.netty.handler.stream.ChunkedNioFile;
import io.netty.handler.stream.ChunkedStream;
import io.netty.handler.stream.ChunkedWriteHandler;
import io.netty.handler.timeout.ReadTimeoutHandler;
import io.netty.util.concurrent.Future;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.URI;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;

/**
 * Netty as an application uses it: its pool and handlers, and one flush for a request whose body is at hand. The head of a
 * stream is flushed before it.
 */
final class BareNetty extends Client {
    private static final String LIMIT = "limit";

    /** TLS encrypts all of a message before it writes: a larger body is cut. */
    private static final int LARGE = 256 * 1024;

    /** The adapter's part. */
    interface Customizer {
        /** Stock. */
        Customizer NONE = new Customizer() {};

        default Bootstrap bootstrap(Bootstrap made) {
            return made;
        }

        default ChannelPoolHandler handler(ChannelPoolHandler made) {
            return made;
        }

        default ChannelPool pool(ChannelPool made, String origin) {
            return made;
        }
    }

    private static final Set<String> WITH_BODY = Set.of("POST", "PUT", "PATCH");

    private final Customizer customizer;
    private final boolean control;
    private final boolean epoll;
    private final EventLoopGroup group;
    private final Map<InetSocketAddress, ChannelPool> pools = new ConcurrentHashMap<>();

    /** @param control Nagle on; head and body are flushed apart */
    BareNetty(Options options, Recording recording, Customizer customizer, boolean control) {
        super(options, recording);
        this.customizer = customizer;
        this.control = control;
        this.epoll = options.api().equals("netty") && Epoll.isAvailable();
        this.group =
                new MultiThreadIoEventLoopGroup(1, epoll ? EpollIoHandler.newFactory() : NioIoHandler.newFactory());
    }

    @Override
    Runnable start(Call call, Reply reply, CompletableFuture<Reply> done) {
        Exchange exchange = new Exchange(call, reply, done);
        try {
            exchange.start();
        } catch (Skip e) {
            throw e;
        } catch (RuntimeException e) {
            exchange.fail(e);
        }
        return () -> group.next().execute(() -> exchange.leave(reply.cancelled(), false));
    }

    private ChannelPool open(InetSocketAddress origin, boolean tls) {
        SslContext context = tls ? options.sslContext() : null;
        Bootstrap bootstrap = new Bootstrap()
                .group(group)
                .channel(epoll ? EpollSocketChannel.class : NioSocketChannel.class)
                .remoteAddress(options.proxy() != null && !tls ? options.proxy() : origin);
        if (control) {
            bootstrap.option(ChannelOption.TCP_NODELAY, false);
        }
        if (options.connectTimeoutMs() > 0) {
            bootstrap.option(ChannelOption.CONNECT_TIMEOUT_MILLIS, options.connectTimeoutMs());
        }
        options.socketOptions().forEach(bootstrap::option);
        ChannelPoolHandler handler = new AbstractChannelPoolHandler() {
            @Override
            public void channelCreated(Channel channel) {
                ChannelPipeline pipeline = channel.pipeline();
                if (tls && options.proxy() != null) {
                    pipeline.addLast(new HttpProxyHandler(options.proxy()));
                }
                if (tls) {
                    SslHandler secure = context.newHandler(channel.alloc(), origin.getHostString(), origin.getPort());
                    if (options.connectTimeoutMs() > 0) {
                        secure.setHandshakeTimeoutMillis(options.connectTimeoutMs());
                    }
                    pipeline.addLast(secure);
                }
                pipeline.addLast(new HttpClientCodec(4096, 32768, 8192, true), new ChunkedWriteHandler(), new Unused());
            }
        };
        ChannelPool pool = new FixedChannelPool(
                customizer.bootstrap(bootstrap),
                customizer.handler(handler),
                ChannelHealthChecker.ACTIVE,
                FixedChannelPool.AcquireTimeoutAction.FAIL,
                options.poolTimeoutMs() > 0 ? options.poolTimeoutMs() : TimeUnit.MINUTES.toMillis(1),
                options.poolSize(),
                10_000,
                true,
                true);
        return customizer.pool(pool, (tls ? "https://" : "http://") + origin.getHostString() + ":" + origin.getPort());
    }

    @Override
    public void close() {
        pools.values().forEach(ChannelPool::close);
        group.shutdownGracefully(0, 1, TimeUnit.SECONDS);
    }

    /** Closes a channel on which something arrives that belongs to no call. */
    private static final class Unused extends ChannelInboundHandlerAdapter {
        @Override
        public void channelRead(ChannelHandlerContext ctx, Object message) {
            ctx.close();
        }

        @Override
        public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
            ctx.close();
        }
    }

    /** One call: the handler of its channel. */
    private final class Exchange extends SimpleChannelInboundHandler<HttpObject> {
        private final Call call;
        private final Reply reply;
        private final CompletableFuture<Reply> done;
        private HttpRequest head;
        private ChannelPool pool;
        private Channel channel;
        private boolean interim;
        private boolean keepAlive;
        private boolean sent;
        private boolean complete;
        private boolean over;

        Exchange(Call call, Reply reply, CompletableFuture<Reply> done) {
            this.call = call;
            this.reply = reply;
            this.done = done;
        }

        void start() {
            if (!call.read()) {
                throw new Skip("who leaves a body unread closes the channel, which gives the request up");
            }
            URI uri = URI.create(call.url());
            boolean tls = "https".equalsIgnoreCase(uri.getScheme());
            if (uri.getHost() == null || (!tls && !"http".equalsIgnoreCase(uri.getScheme()))) {
                throw new IllegalArgumentException("no URL of http or https");
            }
            head = head(uri, options.proxy() != null && !tls);
            InetSocketAddress origin = InetSocketAddress.createUnresolved(
                    uri.getHost().replaceAll("[\\[\\]]", ""), uri.getPort() >= 0 ? uri.getPort() : tls ? 443 : 80);
            pool = pools.computeIfAbsent(origin, none -> open(origin, tls));
            pool.acquire().addListener((Future<Channel> acquired) -> {
                if (!acquired.isSuccess()) {
                    fail(acquired.cause());
                } else if (over) {
                    pool.release(acquired.getNow());
                } else {
                    run(acquired.getNow());
                }
            });
        }

        private HttpRequest head(URI uri, boolean absolute) {
            String authority = uri.getRawAuthority().replaceFirst(".*@", "");
            String path = (uri.getRawPath().isEmpty() ? "/" : uri.getRawPath())
                    + (uri.getRawQuery() == null ? "" : "?" + uri.getRawQuery());
            HttpRequest made = new DefaultHttpRequest(
                    HttpVersion.HTTP_1_1,
                    HttpMethod.valueOf(call.method()),
                    absolute ? "http://" + authority + path : path);
            if (!call.hasHeader("host")) {
                made.headers().set(HttpHeaderNames.HOST, authority);
            }
            call.headers().forEach(each -> made.headers().add(each.getKey(), each.getValue()));
            if (!options.keepalive()) {
                made.headers().add("Connection", "close");
            }
            long length = call.body().length();
            boolean streamed = call.body() instanceof Payload.Stream || call.body() instanceof Payload.OpenFile;
            if (call.hasHeader("content-length") || call.hasHeader("transfer-encoding")) {
                return made;
            }
            if (length > 0 || (length == 0 && (streamed || WITH_BODY.contains(call.method())))) {
                made.headers().set(HttpHeaderNames.CONTENT_LENGTH, Long.toString(length));
            } else if (length < 0) {
                HttpUtil.setTransferEncodingChunked(made, true);
            }
            return made;
        }

        private void run(Channel acquired) {
            channel = acquired;
            channel.pipeline()
                    .addBefore(channel.pipeline().context(Unused.class).name(), null, this);
            if (call.timeoutMs() > 0) {
                ReadTimeoutHandler limit = new ReadTimeoutHandler(call.timeoutMs(), TimeUnit.MILLISECONDS);
                channel.pipeline().addBefore(channel.pipeline().context(this).name(), LIMIT, limit);
            }
            HttpProxyHandler tunnel = channel.pipeline().get(HttpProxyHandler.class);
            SslHandler secure = channel.pipeline().get(SslHandler.class);
            Future<?> open = channel.newSucceededFuture();
            after(
                    tunnel == null ? open : tunnel.connectFuture(),
                    () -> after(secure == null ? open : secure.handshakeFuture(), this::send));
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

        private void send() {
            write(head);
            if (call.body() instanceof Payload.Stream) {
                channel.flush();
            }
            boolean tls = channel.pipeline().get(SslHandler.class) != null;
            try {
                if (call.body() instanceof Payload.OpenFile file && tls) {
                    last(new HttpChunkedInput(new ChunkedNioFile(file.path().toFile())));
                } else if (call.body() instanceof Payload.OpenFile file) {
                    write(new DefaultFileRegion(file.path().toFile(), 0, file.size()));
                    last(LastHttpContent.EMPTY_LAST_CONTENT);
                } else if (call.body() instanceof Payload.Stream stream) {
                    stream.published(channel.eventLoop())
                            .subscribe(this::chunk, this::fail, () -> last(LastHttpContent.EMPTY_LAST_CONTENT));
                } else {
                    byte[] bytes = call.body() instanceof Payload.Memory memory ? memory.bytes() : new byte[0];
                    last(
                            bytes.length > LARGE
                                    ? new HttpChunkedInput(new ChunkedStream(new ByteArrayInputStream(bytes), LARGE))
                                    : new DefaultLastHttpContent(Unpooled.wrappedBuffer(bytes)));
                }
            } catch (IOException e) {
                fail(e);
            }
        }

        private void chunk(byte[] bytes) {
            write(new DefaultHttpContent(Unpooled.wrappedBuffer(bytes)));
            channel.flush();
        }

        private void write(Object part) {
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

        /** Releases the channel, or closes it, and then ends the call. */
        void leave(Reply with, boolean keep) {
            if (over) {
                return;
            }
            over = true;
            if (channel != null) {
                channel.pipeline().remove(this);
                if (!keep) {
                    channel.close();
                } else if (channel.pipeline().get(LIMIT) != null) {
                    channel.pipeline().remove(LIMIT);
                }
                pool.release(channel);
            }
            done.complete(with);
        }

        @Override
        protected void channelRead0(ChannelHandlerContext ctx, HttpObject part) {
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
                interim = response.status().codeClass() == HttpStatusClass.INFORMATIONAL && status != 101;
                if (interim) {
                    return;
                }
                reply.status = status;
                reply.headers = response.headers().entries();
                keepAlive = HttpUtil.isKeepAlive(response) && HttpUtil.isKeepAlive(head) && status != 101;
            }
            if (part instanceof HttpContent content && !interim) {
                reply.body(ByteBufUtil.getBytes(content.content()));
                complete = part instanceof LastHttpContent;
            }
        }

        @Override
        public void channelReadComplete(ChannelHandlerContext ctx) {
            if (complete) {
                leave(reply, keepAlive && sent);
            }
        }

        @Override
        public void channelInactive(ChannelHandlerContext ctx) {
            channelReadComplete(ctx);
            fail(new PrematureChannelClosureException("closed before the response was complete"));
        }

        @Override
        public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
            fail(cause);
        }
    }
}
