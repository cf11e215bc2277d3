package io.github.onewrite.testing;

import java.io.IOException;
import java.net.Socket;

/** A proxy that answers CONNECT. */
public final class Tunnel {
    private Tunnel() {}

    /** A proxy whose tunnels all lead to this server, whatever host the client names. */
    public static TestServer to(TestServer server) throws IOException {
        return new TestServer(connection -> {
            connection.readHead();
            open(connection, server.port());
        });
    }

    /** Grants the CONNECT that was read, and passes bytes on until either side closes. */
    public static void open(TestServer.Connection connection, int port) throws IOException {
        try (Socket origin = new Socket("localhost", port)) {
            connection.send("HTTP/1.1 200 OK\r\n\r\n");
            Thread back = new Thread(() -> {
                try {
                    origin.getInputStream().transferTo(connection.socket().getOutputStream());
                } catch (IOException e) {
                    // Either side has closed.
                }
            });
            back.setDaemon(true);
            back.start();
            connection.in().transferTo(origin.getOutputStream());
        }
    }
}
