import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import io.github.onewrite.okhttp.OnewriteOkHttp;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.Executors;
import okhttp3.MediaType;
import okhttp3.OkHttpClient;
import okhttp3.Request;
import okhttp3.RequestBody;
import okhttp3.Response;

/**
 * A small web service that forwards each order it receives to an upstream, and logs where the call's time went.
 *
 * <pre>
 *   make -C ../bench stand                          # HAProxy before an origin; prints URL=
 *   UPSTREAM=$URL java -cp … OrderService.java      # PORT=8000 unless set; 0 takes a free one
 *   curl --data '{"item": "tea"}' http://127.0.0.1:8000/orders
 * </pre>
 */
public final class OrderService {
    private static final String UPSTREAM = System.getenv("UPSTREAM");
    private static final MediaType JSON = MediaType.get("application/json");

    private OrderService() {}

    public static void main(String[] args) throws IOException {
        // The JDK's server writes an answer in two: without this its callers would stall.
        System.setProperty("sun.net.httpserver.nodelay", "true");
        int port = Integer.parseInt(System.getenv().getOrDefault("PORT", "8000"));
        OkHttpClient client = OnewriteOkHttp.create()
                .onTiming(System.out::println)
                .apply(new OkHttpClient.Builder())
                .build();
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), 0);
        server.createContext("/orders", exchange -> store(client, exchange));
        server.setExecutor(Executors.newCachedThreadPool());
        server.start();
        System.out.println(
                "listening on http://127.0.0.1:" + server.getAddress().getPort() + "/orders");
    }

    private static void store(OkHttpClient client, HttpExchange exchange) throws IOException {
        byte[] order = exchange.getRequestBody().readAllBytes();
        int status;
        byte[] answer;
        Request request = new Request.Builder()
                .url(UPSTREAM)
                .post(RequestBody.create(order, JSON))
                .build();
        try (Response stored = client.newCall(request).execute()) {
            status = stored.code();
            answer = stored.body().bytes();
        } catch (IOException error) {
            status = 502;
            answer = ("{\"error\": \"" + error.getClass().getSimpleName() + "\"}").getBytes(StandardCharsets.UTF_8);
        }
        exchange.getResponseHeaders().set("Content-Type", "application/json");
        exchange.sendResponseHeaders(status, answer.length);
        exchange.getResponseBody().write(answer);
        exchange.close();
    }
}
