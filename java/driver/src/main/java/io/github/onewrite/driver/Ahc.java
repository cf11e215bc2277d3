package io.github.onewrite.driver;

import io.netty.channel.Channel;
import io.netty.handler.codec.http.HttpHeaders;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Queue;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.asynchttpclient.AsyncHandler;
import org.asynchttpclient.AsyncHttpClient;
import org.asynchttpclient.DefaultAsyncHttpClientConfig;
import org.asynchttpclient.Dsl;
import org.asynchttpclient.HttpResponseBodyPart;
import org.asynchttpclient.HttpResponseStatus;
import org.asynchttpclient.ListenableFuture;
import org.asynchttpclient.Request;
import org.asynchttpclient.RequestBuilder;
import org.asynchttpclient.proxy.ProxyServer;
import org.asynchttpclient.request.body.generator.InputStreamBodyGenerator;
import org.asynchttpclient.request.body.multipart.ByteArrayPart;
import org.asynchttpclient.request.body.multipart.StringPart;

/**
 * Drives AsyncHttpClient, with or without the customizer. It can limit connections but does not queue calls, so
 * calls beyond the limit wait here.
 */
final class Ahc extends Client {
    private final AsyncHttpClient client;
    private final ExecutorService callers;

    /** Of the calls whose request is not written yet, in order. */
    private final Queue<Recording> begun = new ConcurrentLinkedQueue<>();

    Ahc(Options options, boolean patched) {
        super(options);
        callers = Executors.newFixedThreadPool(options.poolSize());
        DefaultAsyncHttpClientConfig.Builder config = Dsl.config()
                .setUseNativeTransport(true)
                .setUseOnlyEpollNativeTransport(true)
                .setShutdownQuietPeriod(Duration.ZERO)
                .setKeepAlive(options.keepalive())
                .setMaxRequestRetry(options.retries())
                .setFollowRedirect(options.redirects());
        if (options.connectTimeoutMs() > 0) {
            config.setConnectTimeout(Duration.ofMillis(options.connectTimeoutMs()));
        }
        if (options.tlsCa() != null) {
            config.setSslContext(options.sslContext());
        }
        if (options.proxy() != null) {
            config.setProxyServer(new ProxyServer.Builder(
                    options.proxy().getHostString(), options.proxy().getPort()));
        }
        options.socketOptions().forEach(config::addChannelOption);
        client = Dsl.asyncHttpClient(patched ? Customizers.ahc(options, begun).apply(config) : config);
    }

    @Override
    Runnable start(Call call, Recording recording, Reply reply, CompletableFuture<Reply> done) {
        Answer answer = new Answer(call, recording, reply, done);
        callers.execute(() -> {
            answer.send();
            done.join();
        });
        return answer::cancel;
    }

    private static Request request(Call call, Answer answer) {
        RequestBuilder builder = new RequestBuilder(call.method()).setUrl(call.url());
        call.headers().forEach(header -> builder.addHeader(header.getKey(), header.getValue()));
        if (call.timeoutMs() > 0) {
            builder.setRequestTimeout(Duration.ofMillis(call.timeoutMs()));
        }
        body(builder, call.body(), answer);
        return builder.build();
    }

    private static void body(RequestBuilder builder, Payload body, Answer answer) {
        if (body instanceof Payload.Memory memory) {
            switch (memory.kind()) {
                case "text" -> builder.setBody(new String(memory.bytes(), StandardCharsets.UTF_8));
                case "memory_file" ->
                    builder.setBody(new InputStreamBodyGenerator(
                            new ByteArrayInputStream(memory.bytes()), memory.bytes().length));
                default -> builder.setBody(memory.bytes());
            }
        } else if (body instanceof Payload.OpenFile file) {
            builder.setBody(file.path().toFile());
        } else if (body instanceof Payload.Form form) {
            form.fields().forEach(field -> builder.addFormParam(field.getKey(), field.getValue()));
        } else if (body instanceof Payload.Multipart multipart) {
            multipart(builder, multipart);
        } else if (body instanceof Payload.Stream stream) {
            builder.setBody(new FedBody(stream, () -> answer.channel));
        }
    }

    private static void multipart(RequestBuilder builder, Payload.Multipart multipart) {
        for (Payload.Part part : multipart.parts()) {
            if (part.fileName() == null) {
                builder.addBodyPart(new StringPart(part.name(), part.value()));
            } else {
                builder.addBodyPart(new ByteArrayPart(
                        part.name(), part.content(), "application/octet-stream", null, part.fileName()));
            }
        }
    }

    @Override
    public void close() {
        callers.shutdown();
        try {
            client.close();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** A call, which reads the response into a reply. */
    private final class Answer implements AsyncHandler<Void> {
        private final Call call;
        private final Recording recording;
        private final Reply reply;
        private final CompletableFuture<Reply> done;
        private ListenableFuture<?> sent;
        private volatile Channel channel;

        Answer(Call call, Recording recording, Reply reply, CompletableFuture<Reply> done) {
            this.call = call;
            this.recording = recording;
            this.reply = reply;
            this.done = done;
        }

        synchronized void send() {
            if (done.isDone()) {
                return;
            }
            try {
                if (recording != null) {
                    begun.add(recording);
                    done.thenRun(this::over);
                }
                sent = client.executeRequest(request(call, this), this);
            } catch (RuntimeException e) {
                done.complete(reply.failed(e));
            }
        }

        private void over() {
            if (begun.remove(recording)) {
                recording.hasNone();
            }
        }

        synchronized void cancel() {
            if (sent != null) {
                sent.cancel(true);
            } else {
                reply.called = false;
                done.complete(reply.cancelled());
            }
        }

        @Override
        public void onConnectionPooled(Channel connection) {
            channel = connection;
        }

        @Override
        public void onTcpConnectSuccess(InetSocketAddress remote, Channel connection) {
            channel = connection;
        }

        @Override
        public State onStatusReceived(HttpResponseStatus status) {
            reply.status = status.getStatusCode();
            reply.objects.addProperty("response", status.getClass().getName());
            return State.CONTINUE;
        }

        @Override
        public State onHeadersReceived(HttpHeaders headers) {
            reply.headers = headers.entries();
            return call.read() ? State.CONTINUE : State.ABORT;
        }

        @Override
        public State onBodyPartReceived(HttpResponseBodyPart part) {
            reply.body(part.getBodyPartBytes());
            return State.CONTINUE;
        }

        @Override
        public void onThrowable(Throwable error) {
            done.complete(error instanceof CancellationException ? reply.cancelled() : reply.failed(error));
        }

        @Override
        public Void onCompleted() {
            // AsyncHttpClient completes a call without a status, too, where a connection closes before one.
            boolean answered = reply.status != null;
            done.complete(answered ? reply : reply.failed(new IllegalStateException("completed without a status")));
            return null;
        }
    }
}
