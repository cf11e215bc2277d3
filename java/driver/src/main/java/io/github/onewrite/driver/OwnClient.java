package io.github.onewrite.driver;

import io.github.onewrite.Status;
import io.github.onewrite.client.Body;
import io.github.onewrite.client.OnewriteClient;
import io.github.onewrite.client.OnewriteClientBuilder;
import io.github.onewrite.client.Proxy;
import io.github.onewrite.client.Request;
import io.github.onewrite.client.Response;
import io.github.onewrite.client.StreamedResponse;
import io.netty.channel.ChannelOption;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.netty.handler.codec.http.HttpHeaders;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/** Drives the adapter's own client through its public API. */
final class OwnClient implements Client {
    private final Options options;
    private final OnewriteClient client;

    OwnClient(Options options) {
        this.options = options;
        OnewriteClientBuilder builder = OnewriteClient.builder()
                .config(AdapterOptions.of(options.adapter()))
                .maxConnectionsPerOrigin(options.poolSize());
        if (options.api().equals("netty-nio") || options.customConnector()) {
            builder.eventLoopGroup(
                    new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory()),
                    options.customConnector() ? OwnClient::withNagle : NioSocketChannel::new);
        }
        if (options.tlsCa() != null) {
            builder.sslContext(options.sslContext());
        }
        if (options.proxy() != null) {
            builder.proxy(
                    new Proxy(options.proxy().getHostString(), options.proxy().getPort()));
        }
        if (options.connectTimeoutMs() > 0) {
            builder.connectTimeout(Duration.ofMillis(options.connectTimeoutMs()));
        }
        if (options.poolTimeoutMs() > 0) {
            builder.queueTimeout(Duration.ofMillis(options.poolTimeoutMs()));
        }
        SocketOptions.apply(options.socketOptions(), new SocketOptions.Setter() {
            @Override
            public <T> void set(ChannelOption<T> option, T value) {
                builder.channelOption(option, value);
            }
        });
        if (options.withOnTiming()) {
            builder.onTiming(timing -> ((Recording) timing.tag().orElseThrow()).onTiming(timing));
        }
        if (options.withListener()) {
            builder.listenerFactory((method, url, tag) -> (Recording) tag);
        }
        client = builder.build();
    }

    /** A user's channel factory that leaves Nagle on: Netty would set TCP_NODELAY. */
    private static NioSocketChannel withNagle() {
        NioSocketChannel channel = new NioSocketChannel();
        channel.config().setTcpNoDelay(false);
        return channel;
    }

    @Override
    public Status status() {
        return client.status();
    }

    @Override
    public CompletableFuture<Reply> send(Call call) {
        Recording recording = Recording.of(options);
        Request request = request(call, recording);
        Reply reply = new Reply(call);
        CompletableFuture<?> sent;
        if (call.read()) {
            CompletableFuture<Response> response = cancelLater(call, client.send(request));
            sent = response.thenAccept(read -> {
                head(reply, read.status(), read.headers());
                reply.body(read.body());
            });
        } else {
            CompletableFuture<StreamedResponse> response = cancelLater(call, client.stream(request));
            sent = response.thenAccept(open -> {
                head(reply, open.status(), open.headers());
                open.close();
            });
        }
        return settle(sent, recording, reply).thenApply(call::settled);
    }

    private static <T> CompletableFuture<T> cancelLater(Call call, CompletableFuture<T> sent) {
        if (call.cancelAfterMs() >= 0) {
            CompletableFuture.delayedExecutor(call.cancelAfterMs(), TimeUnit.MILLISECONDS)
                    .execute(() -> sent.cancel(true));
        }
        return sent;
    }

    private static CompletableFuture<Reply> settle(CompletableFuture<?> sent, Recording recording, Reply reply) {
        CompletableFuture<Reply> outcome = sent.handle((done, thrown) -> {
            Throwable why = thrown == null ? null : Errors.unwrap(thrown);
            if (why instanceof CancellationException) {
                return reply.cancelled();
            }
            return why == null ? reply : reply.failed(why, Errors.kind(why));
        });
        return recording == null ? outcome : recording.joinTo(outcome);
    }

    private static void head(Reply reply, int status, HttpHeaders headers) {
        reply.status = status;
        reply.headers = headers.entries();
    }

    private Request request(Call call, Recording recording) {
        Request.Builder builder = Request.method(call.method(), call.url()).tag(recording);
        call.headers().forEach(header -> builder.header(header.getKey(), header.getValue()));
        if (!options.keepalive()) {
            builder.header("Connection", "close");
        }
        if (call.timeoutMs() > 0) {
            builder.timeout(Duration.ofMillis(call.timeoutMs()));
        }
        return builder.body(body(call.body())).build();
    }

    private static Body body(Payload payload) {
        if (payload instanceof Payload.None) {
            return Body.none();
        }
        if (payload instanceof Payload.Memory memory) {
            return switch (memory.kind()) {
                case "text" -> Body.of(new String(memory.bytes(), StandardCharsets.UTF_8));
                case "memory_file" -> Body.of(memory.buffer());
                default -> Body.of(memory.bytes());
            };
        }
        if (payload instanceof Payload.OpenFile file) {
            return Body.ofFile(file.path());
        }
        if (payload instanceof Payload.Stream stream) {
            Chunks chunks = new Chunks(stream.chunks(), stream.gapMs());
            return stream.declaredSize() < 0
                    ? Body.ofPublisher(chunks)
                    : Body.ofPublisher(chunks, stream.declaredSize());
        }
        throw new Skip("the client has no " + payload.kind() + " bodies");
    }

    @Override
    public void close() {
        client.close();
    }
}
