package io.github.onewrite.testing;

import java.io.IOException;
import java.net.Socket;

/** A proxy that answers CONNECT. */
public final class Tunnel {
    private Tunnel() {}

    /** Whatever the client asks for, its tunnel leads to this server. */
    public static TestServer to(TestServer server) throws IOException {
        return new TestServer(connection -> {
            connection.readHead();
            try (Socket origin = new Socket("localhost", server.port())) {
                connection.send("HTTP/1.1 200 OK\r\n\r\n");
                Thread back = new Thread(() -> {
                    try {
                        origin.getInputStream().transferTo(connection.socket().getOutputStream());
                    } catch (IOException e) {
                        // One of the two has closed: the end.
                    }
                });
                back.setDaemon(true);
                back.start();
                connection.in().transferTo(origin.getOutputStream());
            }
        });
    }
}
