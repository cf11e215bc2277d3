package io.github.onewrite.bench.jmh;

import io.netty.buffer.Unpooled;
import io.netty.channel.EventLoopGroup;
import io.vertx.core.Context;
import io.vertx.core.VertxOptions;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpClientAgent;
import io.vertx.core.http.HttpClientOptions;
import io.vertx.core.http.PoolOptions;
import io.vertx.core.http.RequestOptions;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import okhttp3.ConnectionPool;
import okhttp3.MediaType;
import okhttp3.OkHttpClient;
import okhttp3.RequestBody;
import org.apache.hc.client5.http.async.methods.SimpleRequestBuilder;
import org.apache.hc.client5.http.classic.methods.HttpPost;
import org.apache.hc.client5.http.config.TlsConfig;
import org.apache.hc.client5.http.impl.async.CloseableHttpAsyncClient;
import org.apache.hc.client5.http.impl.async.HttpAsyncClients;
import org.apache.hc.client5.http.impl.classic.CloseableHttpClient;
import org.apache.hc.client5.http.impl.classic.HttpClients;
import org.apache.hc.client5.http.impl.io.PoolingHttpClientConnectionManagerBuilder;
import org.apache.hc.client5.http.impl.nio.PoolingAsyncClientConnectionManagerBuilder;
import org.apache.hc.core5.http.ContentType;
import org.apache.hc.core5.http.io.entity.ByteArrayEntity;
import org.apache.hc.core5.http.io.entity.EntityUtils;
import org.apache.hc.core5.http2.HttpVersionPolicy;
import org.apache.hc.core5.reactor.IOReactorConfig;
import org.asynchttpclient.AsyncHttpClient;
import org.asynchttpclient.Dsl;
import org.eclipse.jetty.client.BytesRequestContent;
import org.eclipse.jetty.http.HttpMethod;
import reactor.core.publisher.Mono;
import reactor.netty.resources.ConnectionProvider;

/**
 * Other clients, used as their documentation shows: a POST with a body in memory, its response read to the end. Those
 * with a setting for it use one I/O thread. Their pools have a connection for each caller.
 */
final class Competitors {
    /** A client that hangs loses its row of the report, not the whole report. */
    private static final int MOST_SECONDS = 30;

    private Competitors() {}

    static final class ReactorNetty implements Poster {
        private final ConnectionProvider connections = ConnectionProvider.create("bench", MOST_CALLERS);
        private final reactor.netty.http.client.HttpClient client;
        private final URI url;
        private final byte[] body;

        ReactorNetty(URI url, byte[] body, EventLoopGroup group) {
            client = reactor.netty.http.client.HttpClient.create(connections).runOn(group);
            this.url = url;
            this.body = body;
        }

        @Override
        public int post() {
            Integer status = client.post()
                    .uri(url)
                    .send(Mono.fromSupplier(() -> Unpooled.wrappedBuffer(body)))
                    .responseSingle((response, content) ->
                            content.asByteArray().thenReturn(response.status().code()))
                    .block(Duration.ofSeconds(MOST_SECONDS));
            return status == null ? 0 : status;
        }

        @Override
        public void close() {
            connections.dispose();
        }
    }

    static final class AsyncHttp implements Poster {
        private final AsyncHttpClient client;
        private final String url;
        private final byte[] body;

        AsyncHttp(URI url, byte[] body, EventLoopGroup group) {
            client = Dsl.asyncHttpClient(Dsl.config().setEventLoopGroup(group));
            this.url = url.toString();
            this.body = body;
        }

        @Override
        public int post() throws Exception {
            return client.preparePost(url).setBody(body).execute().get(MOST_SECONDS, TimeUnit.SECONDS).getStatusCode();
        }

        @Override
        public void close() throws Exception {
            client.close();
        }
    }

    static final class Jdk implements Poster {
        private final HttpClient client =
                HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
        private final URI url;
        private final byte[] body;

        Jdk(URI url, byte[] body) {
            this.url = url;
            this.body = body;
        }

        @Override
        public int post() throws Exception {
            HttpRequest request = HttpRequest.newBuilder(url)
                    .POST(HttpRequest.BodyPublishers.ofByteArray(body))
                    .build();
            return client.send(request, HttpResponse.BodyHandlers.ofByteArray()).statusCode();
        }

        @Override
        public void close() {
            // Java 17's client has no close(): it ends with the process.
        }
    }

    static final class Ok implements Poster {
        private static final MediaType BYTES = MediaType.get("application/octet-stream");

        private final OkHttpClient client = new OkHttpClient.Builder()
                .connectionPool(new ConnectionPool(MOST_CALLERS, 5, TimeUnit.MINUTES))
                .build();
        private final String url;
        private final byte[] body;

        Ok(URI url, byte[] body) {
            this.url = url.toString();
            this.body = body;
        }

        @Override
        public int post() throws Exception {
            var request = new okhttp3.Request.Builder()
                    .url(url)
                    .post(RequestBody.create(body, BYTES))
                    .build();
            try (okhttp3.Response response = client.newCall(request).execute()) {
                response.body().bytes();
                return response.code();
            }
        }

        @Override
        public void close() {
            client.dispatcher().executorService().shutdown();
            client.connectionPool().evictAll();
        }
    }

    static final class Apache5 implements Poster {
        private final CloseableHttpClient client = HttpClients.custom()
                .setConnectionManager(PoolingHttpClientConnectionManagerBuilder.create()
                        .setMaxConnPerRoute(MOST_CALLERS)
                        .setMaxConnTotal(MOST_CALLERS)
                        .build())
                .build();
        private final URI url;
        private final byte[] body;

        Apache5(URI url, byte[] body) {
            this.url = url;
            this.body = body;
        }

        @Override
        public int post() throws Exception {
            HttpPost request = new HttpPost(url);
            request.setEntity(new ByteArrayEntity(body, ContentType.APPLICATION_OCTET_STREAM));
            return client.execute(request, response -> {
                EntityUtils.consume(response.getEntity());
                return response.getCode();
            });
        }

        @Override
        public void close() throws Exception {
            client.close();
        }
    }

    static final class Apache5Async implements Poster {
        private final CloseableHttpAsyncClient client = HttpAsyncClients.custom()
                .setIOReactorConfig(
                        IOReactorConfig.custom().setIoThreadCount(1).build())
                .setConnectionManager(PoolingAsyncClientConnectionManagerBuilder.create()
                        .setMaxConnPerRoute(MOST_CALLERS)
                        .setMaxConnTotal(MOST_CALLERS)
                        .setDefaultTlsConfig(TlsConfig.custom()
                                .setVersionPolicy(HttpVersionPolicy.FORCE_HTTP_1)
                                .build())
                        .build())
                .build();
        private final URI url;
        private final byte[] body;

        Apache5Async(URI url, byte[] body) {
            this.url = url;
            this.body = body;
            client.start();
        }

        @Override
        public int post() throws Exception {
            var request = SimpleRequestBuilder.post(url)
                    .setBody(body, ContentType.APPLICATION_OCTET_STREAM)
                    .build();
            return client.execute(request, null).get(MOST_SECONDS, TimeUnit.SECONDS).getCode();
        }

        @Override
        public void close() throws Exception {
            client.close();
        }
    }

    static final class Jetty implements Poster {
        private final org.eclipse.jetty.client.HttpClient client = new org.eclipse.jetty.client.HttpClient();
        private final URI url;
        private final byte[] body;

        Jetty(URI url, byte[] body) throws Exception {
            this.url = url;
            this.body = body;
            client.start();
        }

        @Override
        public int post() throws Exception {
            return client.newRequest(url)
                    .method(HttpMethod.POST)
                    .body(new BytesRequestContent(body))
                    .send()
                    .getStatus();
        }

        @Override
        public void close() throws Exception {
            client.stop();
        }
    }

    static final class Vertx implements Poster {
        private final io.vertx.core.Vertx vertx =
                io.vertx.core.Vertx.vertx(new VertxOptions().setEventLoopPoolSize(1));
        private final HttpClientAgent client =
                vertx.createHttpClient(new HttpClientOptions(), new PoolOptions().setHttp1MaxSize(MOST_CALLERS));
        private final Context loop = vertx.getOrCreateContext();
        private final RequestOptions where;
        private final Buffer body;

        Vertx(URI url, byte[] body) {
            where = new RequestOptions()
                    .setMethod(io.vertx.core.http.HttpMethod.POST)
                    .setAbsoluteURI(url.toString());
            this.body = Buffer.buffer(body);
        }

        @Override
        public int post() throws Exception {
            // On its event loop, as Vert.x is meant to be used: called from another thread, the end of a response can
            // come before its handler is set.
            CompletableFuture<Integer> status = new CompletableFuture<>();
            loop.runOnContext(ignored -> client.request(where)
                    .compose(request -> request.send(body))
                    .compose(response -> response.body().map(response.statusCode()))
                    .onSuccess(status::complete)
                    .onFailure(status::completeExceptionally));
            return status.get(MOST_SECONDS, TimeUnit.SECONDS);
        }

        @Override
        public void close() throws Exception {
            client.close().toCompletionStage().toCompletableFuture().get();
            vertx.close().toCompletionStage().toCompletableFuture().get();
        }
    }
}
