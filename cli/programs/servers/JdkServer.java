import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;

/** The JDK's own HTTP server, with one small answer. */
final class JdkServer {
    public static void main(String[] arguments) throws Exception {
        HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", Integer.parseInt(arguments[0])), 0);
        server.createContext("/", exchange -> {
            byte[] body = "x".repeat(200).getBytes();
            exchange.sendResponseHeaders(200, body.length);
            exchange.getResponseBody().write(body);
            exchange.close();
        });
        server.start();
    }
}
