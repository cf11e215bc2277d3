package io.github.onewrite.bench;

import io.github.onewrite.okhttp.OnewriteOkHttp;
import io.github.onewrite.reactornetty.OnewriteReactorNetty;
import io.netty.buffer.Unpooled;
import java.io.IOException;
import okhttp3.OkHttpClient;
import okhttp3.Request;
import okhttp3.RequestBody;
import okhttp3.Response;
import reactor.core.publisher.Mono;
import reactor.netty.http.client.HttpClient;

/** The libraries that are measured. The properties {@code origin} and {@code haproxy} have the ports of the servers. */
public enum Library {
    netty {
        @Override
        Client client(Variant variant, int size) {
            return new NettyClient(variant, Integer.getInteger("origin"), size, false);
        }
    },

    /** Netty through HAProxy, with Nagle's algorithm on and head and body flushed apart: {@code stock} stalls. */
    nettyStall {
        @Override
        Client client(Variant variant, int size) {
            return new NettyClient(variant, Integer.getInteger("haproxy"), size, true);
        }
    },

    okHttp {
        @Override
        Client client(Variant variant, int size) {
            OkHttpClient.Builder builder = new OkHttpClient.Builder();
            OkHttpClient client = (variant.isOnewrite()
                            ? variant.hooked(OnewriteOkHttp.create()).apply(builder)
                            : builder)
                    .build();
            Request request = new Request.Builder()
                    .url("http://127.0.0.1:" + Integer.getInteger("origin") + "/")
                    .post(RequestBody.create(new byte[size]))
                    .build();
            return new Client() {
                @Override
                public int post() throws IOException {
                    try (Response response = client.newCall(request).execute()) {
                        return response.body().bytes().length;
                    }
                }

                @Override
                public void close() {
                    client.connectionPool().evictAll();
                    client.dispatcher().executorService().shutdown();
                }
            };
        }
    },

    reactorNetty {
        @Override
        Client client(Variant variant, int size) {
            HttpClient stock = HttpClient.create();
            HttpClient client = variant.isOnewrite()
                    ? variant.hooked(OnewriteReactorNetty.create()).apply(stock)
                    : stock;
            byte[] body = new byte[size];
            Mono<byte[]> post = client.headers(headers -> headers.set("Content-Length", size))
                    .post()
                    .uri("http://127.0.0.1:" + Integer.getInteger("origin") + "/")
                    .send(Mono.fromSupplier(() -> Unpooled.wrappedBuffer(body)))
                    .responseSingle((response, content) -> content.asByteArray());
            return new Client() {
                @Override
                public int post() {
                    return post.block().length;
                }

                @Override
                public void close() {
                    // Its threads and connections are the process's own.
                }
            };
        }
    };

    /** Opens a client whose requests have a body of this size. */
    abstract Client client(Variant variant, int size);
}
