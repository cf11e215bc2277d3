package io.github.onewrite.driver;

import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.concurrent.Executor;

/** The bridge: a small HTTP service that POSTs each request it gets to the upstream through the client. */
final class Bridge {
    /** Ends an answer with its headers: they leave in one write. */
    private static final int NO_BODY = -1;

    private Bridge() {}

    /** Starts the service on 127.0.0.1 and returns its port. */
    static int start(Client client, String upstream, int port, Executor workers) throws IOException {
        System.setProperty("sun.net.httpserver.nodelay", "true");
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), 0);
        server.setExecutor(workers);
        server.createContext("/null", exchange -> exchange.sendResponseHeaders(200, NO_BODY));
        server.createContext("/", exchange -> {
            Payload body = new Payload.Memory("bytes", exchange.getRequestBody().readAllBytes());
            Reply reply = client.send(Call.bare("POST", upstream, body)).join();
            exchange.sendResponseHeaders(reply.ok() ? reply.status : 502, NO_BODY);
        });
        server.start();
        return server.getAddress().getPort();
    }
}
