import io.github.onewrite.okhttp.OnewriteOkHttp;
import java.io.FileInputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import javax.net.SocketFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManager;
import javax.net.ssl.TrustManagerFactory;
import javax.net.ssl.X509TrustManager;
import okhttp3.ConnectionPool;
import okhttp3.OkHttp;
import okhttp3.OkHttpClient;
import okhttp3.Request;
import okhttp3.RequestBody;
import okhttp3.Response;

/**
 * OkHttp as people use it. usage: java -cp 'libs/*' OkHttpVictim.java SIZE|fresh URL COUNT [--cured|--factory]
 *
 * <p>Prints one JSON line: the version, and what each POST took in ms, warm-up left out. `--cured` applies onewrite-okhttp,
 * `--factory` a socket factory that turns TCP_NODELAY on, which OkHttp never does. The certificate to trust is in SSL_CERT_FILE.
 */
final class OkHttpVictim {
    private static final int WARM_UP = 16;

    /** The cure without a dependency: OkHttp asks for an unconnected socket and layers TLS on it. */
    private static final class NoDelay extends SocketFactory {
        @Override
        public Socket createSocket() throws IOException {
            Socket socket = new Socket();
            socket.setTcpNoDelay(true);
            return socket;
        }

        @Override
        public Socket createSocket(String host, int port) {
            throw new UnsupportedOperationException();
        }

        @Override
        public Socket createSocket(String host, int port, InetAddress local, int localPort) {
            throw new UnsupportedOperationException();
        }

        @Override
        public Socket createSocket(InetAddress host, int port) {
            throw new UnsupportedOperationException();
        }

        @Override
        public Socket createSocket(InetAddress host, int port, InetAddress local, int localPort) {
            throw new UnsupportedOperationException();
        }
    }

    public static void main(String[] args) throws Exception {
        boolean fresh = args[0].equals("fresh");
        int size = fresh ? 200 : Integer.parseInt(args[0]);
        String url = args[1];
        int count = Integer.parseInt(args[2]);
        // Handshakes are slow until they are compiled.
        int warmUp = fresh ? 80 : WARM_UP;
        OkHttpClient.Builder builder = new OkHttpClient.Builder();
        if (url.startsWith("https:")) {
            trust(builder);
        }
        if (args.length > 3) {
            if (args[3].equals("--factory")) {
                builder.socketFactory(new NoDelay());
            } else {
                OnewriteOkHttp.create().apply(builder);
            }
        }
        OkHttpClient client = builder.build();
        RequestBody body = RequestBody.create(new byte[size]);
        List<String> times = new ArrayList<>();
        for (int turn = 0; turn < warmUp + count; turn++) {
            OkHttpClient one = fresh ? client.newBuilder().connectionPool(new ConnectionPool()).build() : client;
            long started = System.nanoTime();
            try (Response response = one.newCall(new Request.Builder().url(url).post(body).build()).execute()) {
                response.body().bytes();
            }
            long elapsed = System.nanoTime() - started;
            if (turn >= warmUp) {
                times.add(String.format(Locale.ROOT, "%.3f", elapsed / 1e6));
            }
            if (fresh) {
                one.connectionPool().evictAll();
            }
        }
        System.out.println("{\"version\": \"" + OkHttp.VERSION + "\", \"times_ms\": " + times + "}");
        System.exit(0);
    }

    private static void trust(OkHttpClient.Builder builder) throws Exception {
        KeyStore store = KeyStore.getInstance(KeyStore.getDefaultType());
        store.load(null);
        try (FileInputStream pem = new FileInputStream(System.getenv("SSL_CERT_FILE"))) {
            store.setCertificateEntry("local", CertificateFactory.getInstance("X.509").generateCertificate(pem));
        }
        TrustManagerFactory factory = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        factory.init(store);
        TrustManager[] managers = factory.getTrustManagers();
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(null, managers, null);
        builder.sslSocketFactory(context.getSocketFactory(), (X509TrustManager) managers[0]);
    }
}
