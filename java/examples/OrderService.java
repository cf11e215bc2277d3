import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import io.github.onewrite.client.Body;
import io.github.onewrite.client.OnewriteClient;
import io.github.onewrite.client.Request;
import io.github.onewrite.client.Response;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.Executors;

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

    private OrderService() {}

    public static void main(String[] args) throws IOException {
        // The JDK's server writes an answer in two: without this its callers would stall.
        System.setProperty("sun.net.httpserver.nodelay", "true");
        int port = Integer.parseInt(System.getenv().getOrDefault("PORT", "8000"));
        OnewriteClient client =
                OnewriteClient.builder().onTiming(System.out::println).build();
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), 0);
        server.createContext("/orders", exchange -> store(client, exchange));
        server.setExecutor(Executors.newCachedThreadPool());
        server.start();
        System.out.println(
                "listening on http://127.0.0.1:" + server.getAddress().getPort() + "/orders");
    }

    private static void store(OnewriteClient client, HttpExchange exchange) throws IOException {
        byte[] order = exchange.getRequestBody().readAllBytes();
        int status;
        byte[] answer;
        try {
            Response stored = client.execute(Request.post(UPSTREAM, Body.of(order))
                    .header("Content-Type", "application/json")
                    .build());
            status = stored.status();
            answer = stored.body();
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
