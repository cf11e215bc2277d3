package io.github.onewrite.driver;

import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoop;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpMethod;
import java.io.ByteArrayInputStream;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.function.UnaryOperator;
import reactor.core.Disposable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.netty.Connection;
import reactor.netty.http.Http11SslContextSpec;
import reactor.netty.http.client.HttpClient;
import reactor.netty.http.client.HttpClientForm;
import reactor.netty.http.client.HttpClientRequest;
import reactor.netty.http.client.HttpClientResponse;
import reactor.netty.resources.ConnectionProvider;
import reactor.netty.tcp.SslProvider;
import reactor.netty.transport.ProxyProvider;

/** Drives Reactor Netty's HttpClient, with or without the customizer. */
final class ReactorNetty extends Client {
    private final ConnectionProvider connections;
    private final HttpClient client;

    /** @param customizer null for stock */
    ReactorNetty(Options options, Recording recording, UnaryOperator<HttpClient> customizer) {
        super(options, recording);
        connections = options.keepalive() ? pool(options) : ConnectionProvider.newConnection();
        HttpClient made =
                HttpClient.create(connections).keepAlive(options.keepalive()).followRedirect(options.redirects());
        if (options.connectTimeoutMs() > 0) {
            made = made.option(ChannelOption.CONNECT_TIMEOUT_MILLIS, options.connectTimeoutMs());
        }
        if (options.tlsCa() != null) {
            Http11SslContextSpec trusting = Http11SslContextSpec.forClient()
                    .configure(context -> context.trustManager(options.tlsCa().toFile()));
            made = made.secure(spec -> spec.sslContext((SslProvider.GenericSslContextSpec<?>) trusting));
        }
        if (options.proxy() != null) {
            made = made.proxy(spec -> spec.type(ProxyProvider.Proxy.HTTP).socketAddress(options.proxy()));
        }
        for (var each : options.socketOptions().entrySet()) {
            made = made.option(each.getKey(), each.getValue());
        }
        client = customizer == null ? made : customizer.apply(made);
    }

    private static ConnectionProvider pool(Options options) {
        return ConnectionProvider.builder("driver")
                .maxConnections(options.poolSize())
                .pendingAcquireMaxCount(-1)
                .pendingAcquireTimeout(
                        Duration.ofMillis(options.poolTimeoutMs() > 0 ? options.poolTimeoutMs() : 60_000))
                .build();
    }

    @Override
    Runnable start(Call call, Reply reply, CompletableFuture<Reply> done) {
        Disposable sent = read(call, reply, request(call))
                .subscribe(none -> {}, error -> done.complete(reply.failed(error)), () -> done.complete(reply));
        return () -> {
            if (!done.isDone()) {
                sent.dispose();
                done.complete(reply.cancelled());
            }
        };
    }

    private HttpClient.ResponseReceiver<?> request(Call call) {
        HttpClient with = client;
        if (!call.headers().isEmpty()) {
            with = with.headers(
                    headers -> call.headers().forEach(header -> headers.add(header.getKey(), header.getValue())));
        }
        if (call.timeoutMs() > 0) {
            with = with.responseTimeout(Duration.ofMillis(call.timeoutMs()));
        }
        HttpClient.RequestSender sender =
                with.request(HttpMethod.valueOf(call.method())).uri(call.url());
        Payload body = call.body();
        if (body instanceof Payload.Memory memory) {
            byte[] bytes = memory.bytes();
            if (memory.kind().equals("memory_file")) {
                return sender.send((head, out) -> {
                    announce(head, bytes.length);
                    return out.send(Flux.just(bytes).map(Unpooled::wrappedBuffer));
                });
            }
            return sender.send(Mono.fromSupplier(() -> Unpooled.wrappedBuffer(bytes)));
        }
        if (body instanceof Payload.OpenFile file) {
            return sender.send((head, out) -> {
                announce(head, file.size());
                return out.sendFile(file.path());
            });
        }
        if (body instanceof Payload.Form form) {
            return sender.sendForm(
                    (head, fields) -> form.fields().forEach(field -> fields.attr(field.getKey(), field.getValue())));
        }
        if (body instanceof Payload.Multipart multipart) {
            return sender.sendForm((head, fields) -> multipart(multipart, fields));
        }
        if (body instanceof Payload.Stream stream) {
            return sender.send((head, out) -> {
                announce(head, stream.declaredSize());
                // The loop is the timer: after a delay of the loop, another timer's chunks would leave together.
                EventLoop loop = ((Connection) out).channel().eventLoop();
                return out.send(stream.published(loop).map(Unpooled::wrappedBuffer));
            });
        }
        return sender;
    }

    private static void announce(HttpClientRequest head, long length) {
        if (length >= 0) {
            head.header(HttpHeaderNames.CONTENT_LENGTH, Long.toString(length));
        }
    }

    private static void multipart(Payload.Multipart multipart, HttpClientForm fields) {
        HttpClientForm parts = fields.multipart(true);
        for (Payload.Part part : multipart.parts()) {
            if (part.fileName() == null) {
                parts.attr(part.name(), part.value());
            } else {
                parts.file(part.name(), part.fileName(), new ByteArrayInputStream(part.content()), null);
            }
        }
    }

    private static Mono<Void> read(Call call, Reply reply, HttpClient.ResponseReceiver<?> request) {
        if (!call.read()) {
            return request.responseConnection((response, connection) -> {
                        head(reply, response);
                        connection.dispose();
                        return Mono.<Void>empty();
                    })
                    .then();
        }
        return request.responseSingle((response, body) -> {
                    head(reply, response);
                    return body.asByteArray().doOnNext(reply::body);
                })
                .then();
    }

    private static void head(Reply reply, HttpClientResponse response) {
        reply.status = response.status().code();
        reply.headers = response.responseHeaders().entries();
    }

    @Override
    public void close() {
        connections.dispose();
    }
}
