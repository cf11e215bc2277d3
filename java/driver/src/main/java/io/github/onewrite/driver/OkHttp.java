package io.github.onewrite.driver;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.Proxy;
import java.net.Socket;
import java.nio.file.Files;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;
import javax.net.SocketFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;
import javax.net.ssl.X509TrustManager;
import okhttp3.Callback;
import okhttp3.ConnectionPool;
import okhttp3.Dispatcher;
import okhttp3.OkHttpClient;
import okhttp3.Request;
import okhttp3.Response;

/** Drives OkHttp, with or without the customizer. */
final class OkHttp extends Client {
    private final OkHttpClient client;

    /** @param customizer null for stock */
    OkHttp(Options options, Recording recording, UnaryOperator<OkHttpClient.Builder> customizer) {
        super(options, recording);
        Dispatcher dispatcher = new Dispatcher();
        dispatcher.setMaxRequestsPerHost(options.poolSize());
        OkHttpClient.Builder builder = new OkHttpClient.Builder()
                .dispatcher(dispatcher)
                .connectionPool(new ConnectionPool(options.poolSize(), 5, TimeUnit.MINUTES))
                .followRedirects(options.redirects());
        if (options.customConnector()) {
            builder.socketFactory(new PlainSockets());
        }
        if (options.proxy() != null) {
            builder.proxy(new Proxy(Proxy.Type.HTTP, options.proxy()));
        }
        if (options.connectTimeoutMs() > 0) {
            builder.connectTimeout(options.connectTimeoutMs(), TimeUnit.MILLISECONDS);
        }
        if (options.tlsCa() != null) {
            trust(builder);
        }
        client = (customizer == null ? builder : customizer.apply(builder)).build();
    }

    @Override
    Runnable start(Call call, Reply reply, CompletableFuture<Reply> done) {
        okhttp3.Call sent = client.newCall(request(call));
        if (call.timeoutMs() > 0) {
            sent.timeout().timeout(call.timeoutMs(), TimeUnit.MILLISECONDS);
        }
        sent.enqueue(new Callback() {
            @Override
            public void onFailure(okhttp3.Call failed, IOException e) {
                done.complete(settle(reply, failed, e));
            }

            @Override
            public void onResponse(okhttp3.Call answered, Response response) {
                try (response) {
                    read(call, reply, response);
                    done.complete(reply);
                } catch (IOException e) {
                    done.complete(settle(reply, answered, e));
                }
            }
        });
        return sent::cancel;
    }

    private static void read(Call call, Reply reply, Response response) throws IOException {
        reply.status = response.code();
        List<Map.Entry<String, String>> headers = new ArrayList<>();
        response.headers().forEach(header -> headers.add(Map.entry(header.getFirst(), header.getSecond())));
        reply.headers = headers;
        if (call.read()) {
            reply.body(response.body().bytes());
        }
    }

    private static Reply settle(Reply reply, okhttp3.Call call, IOException e) {
        boolean cancelled = call.isCanceled() && !"timeout".equals(e.getMessage());
        return cancelled ? reply.cancelled() : reply.failed(e);
    }

    private Request request(Call call) {
        Request.Builder builder = new Request.Builder().url(call.url()).method(call.method(), OkHttpBodies.of(call));
        call.headers().forEach(header -> builder.addHeader(header.getKey(), header.getValue()));
        if (!options.keepalive()) {
            builder.addHeader("Connection", "close");
        }
        return builder.build();
    }

    private void trust(OkHttpClient.Builder builder) {
        try (InputStream pem = Files.newInputStream(options.tlsCa())) {
            KeyStore store = KeyStore.getInstance(KeyStore.getDefaultType());
            store.load(null);
            int index = 0;
            for (Certificate each : CertificateFactory.getInstance("X.509").generateCertificates(pem)) {
                store.setCertificateEntry("ca" + index++, each);
            }
            TrustManagerFactory factory = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
            factory.init(store);
            SSLContext context = SSLContext.getInstance("TLS");
            context.init(null, factory.getTrustManagers(), null);
            builder.sslSocketFactory(context.getSocketFactory(), (X509TrustManager) factory.getTrustManagers()[0]);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("no TLS context from " + options.tlsCa(), e);
        }
    }

    @Override
    public void close() {
        client.connectionPool().evictAll();
        client.dispatcher().executorService().shutdown();
    }

    /** A user's socket factory, which sets no option. */
    private static final class PlainSockets extends SocketFactory {
        @Override
        public Socket createSocket() {
            return new Socket();
        }

        @Override
        public Socket createSocket(String host, int port) throws IOException {
            return new Socket(host, port);
        }

        @Override
        public Socket createSocket(String host, int port, java.net.InetAddress local, int localPort)
                throws IOException {
            return new Socket(host, port, local, localPort);
        }

        @Override
        public Socket createSocket(java.net.InetAddress host, int port) throws IOException {
            return new Socket(host, port);
        }

        @Override
        public Socket createSocket(java.net.InetAddress host, int port, java.net.InetAddress local, int localPort)
                throws IOException {
            return new Socket(host, port, local, localPort);
        }
    }
}
