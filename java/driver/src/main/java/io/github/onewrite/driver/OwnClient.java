package io.github.onewrite.driver;

import io.github.onewrite.Status;
import io.github.onewrite.client.Body;
import io.github.onewrite.client.OnewriteClient;
import io.github.onewrite.client.OnewriteClientBuilder;
import io.github.onewrite.client.Proxy;
import io.github.onewrite.client.Request;
import io.github.onewrite.client.Response;
import io.github.onewrite.client.StreamedResponse;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.util.concurrent.GlobalEventExecutor;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import reactor.adapter.JdkFlowAdapter;

/** Drives the adapter's own client through its public API. */
final class OwnClient extends Client {
    private final OnewriteClient client;

    OwnClient(Options options) {
        super(options);
        OnewriteClientBuilder builder =
                AdapterOptions.apply(OnewriteClient.builder(), options).maxConnectionsPerOrigin(options.poolSize());
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
        options.socketOptions().forEach(builder::channelOption);
        client = builder.build();
    }

    /** A user's channel factory that leaves Nagle on: Netty would set TCP_NODELAY. */
    private static NioSocketChannel withNagle() {
        NioSocketChannel channel = new NioSocketChannel();
        channel.config().setTcpNoDelay(false);
        return channel;
    }

    @Override
    Status status() {
        return client.status();
    }

    @Override
    Runnable start(Call call, Recording recording, Reply reply, CompletableFuture<Reply> done) {
        Request request = request(call, recording);
        CompletableFuture<?> sent;
        CompletableFuture<?> read;
        if (call.read()) {
            CompletableFuture<Response> response = client.send(request);
            sent = response;
            read = response.thenAccept(whole -> {
                head(reply, whole.status(), whole.headers());
                reply.body(whole.body());
            });
        } else {
            CompletableFuture<StreamedResponse> response = client.stream(request);
            sent = response;
            read = response.thenAccept(open -> {
                head(reply, open.status(), open.headers());
                open.close();
            });
        }
        read.whenComplete((none, thrown) -> {
            Throwable why = Reply.unwrap(thrown);
            done.complete(
                    why == null ? reply : why instanceof CancellationException ? reply.cancelled() : reply.failed(why));
        });
        return () -> sent.cancel(true);
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
            var chunks = JdkFlowAdapter.publisherToFlowPublisher(
                    stream.published(GlobalEventExecutor.INSTANCE).map(ByteBuffer::wrap));
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
