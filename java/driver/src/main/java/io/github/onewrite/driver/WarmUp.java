package io.github.onewrite.driver;

import com.google.gson.JsonObject;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.TimeUnit;

/**
 * One request before the first that counts: on a busy machine a JVM takes some hundred milliseconds to load a client's
 * classes, which would be taken for the client's own.
 */
final class WarmUp {
    private static final byte[] ANSWER =
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok".getBytes(StandardCharsets.US_ASCII);

    private WarmUp() {}

    static void run(Kinds kind, String api) {
        try (ServerSocket listener = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            Thread server = new Thread(() -> answer(listener), "driver-warm-up");
            server.setDaemon(true);
            server.start();
            JsonObject options = new JsonObject();
            options.addProperty("hooks", kind.capabilities(api).contains("timing") ? "timing" : "none");
            Payload body = new Payload.Memory("bytes", new byte[10]);
            try (Client client = kind.open(Options.parse(options, api))) {
                client.send(Call.bare("POST", "http://127.0.0.1:" + listener.getLocalPort() + "/", body))
                        .orTimeout(30, TimeUnit.SECONDS)
                        .join();
            }
        } catch (IOException e) {
            System.err.println("not warmed up: " + e);
        }
    }

    private static void answer(ServerSocket listener) {
        try (Socket socket = listener.accept()) {
            InputStream in = socket.getInputStream();
            in.read(new byte[4096]);
            socket.getOutputStream().write(ANSWER);
            in.transferTo(java.io.OutputStream.nullOutputStream());
        } catch (IOException e) {
            System.err.println("not warmed up: " + e);
        }
    }
}
