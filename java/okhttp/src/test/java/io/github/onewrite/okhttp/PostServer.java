package io.github.onewrite.okhttp;

import java.io.BufferedInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.Locale;
import java.util.concurrent.atomic.AtomicInteger;

/** Answers each request on a real socket; may close instead of answering one of them. */
final class PostServer implements AutoCloseable {
    private final ServerSocket listener;
    private final AtomicInteger requests = new AtomicInteger();

    private volatile byte[] lastBody = new byte[0];

    /** Number of the request that is read and not answered, or 0. */
    private final int silentAt;

    private final String answer;

    PostServer(int silentAt) throws IOException {
        this(silentAt, "");
    }

    /** @param fields header fields of each answer, with their line ends */
    PostServer(int silentAt, String fields) throws IOException {
        this.answer = "HTTP/1.1 200 OK\r\n" + fields + "Content-Length: 2\r\n\r\nok";
        this.listener = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
        this.silentAt = silentAt;
        start(this::accept);
    }

    private static void start(Runnable task) {
        Thread thread = new Thread(task, "post-server");
        thread.setDaemon(true);
        thread.start();
    }

    String url() {
        return "http://127.0.0.1:" + listener.getLocalPort() + "/";
    }

    byte[] lastBody() {
        return lastBody;
    }

    int requests() {
        return requests.get();
    }

    private void accept() {
        try {
            while (true) {
                Socket socket = listener.accept();
                start(() -> serve(socket));
            }
        } catch (IOException e) {
            // The listener is closed: the end of the test.
        }
    }

    private void serve(Socket socket) {
        try (socket) {
            socket.setTcpNoDelay(true);
            InputStream in = new BufferedInputStream(socket.getInputStream());
            while (true) {
                lastBody = read(in);
                if (requests.incrementAndGet() == silentAt) {
                    return;
                }
                socket.getOutputStream().write(answer.getBytes(StandardCharsets.US_ASCII));
            }
        } catch (IOException e) {
            // The client closed the connection.
        }
    }

    private byte[] read(InputStream in) throws IOException {
        StringBuilder head = new StringBuilder();
        while (head.indexOf("\r\n\r\n") < 0) {
            int next = in.read();
            if (next < 0) {
                throw new EOFException();
            }
            head.append((char) next);
        }
        for (String line : head.toString().toLowerCase(Locale.ROOT).split("\r\n")) {
            if (line.startsWith("content-length:")) {
                int length = Integer.parseInt(line.substring(15).strip());
                byte[] body = in.readNBytes(length);
                if (body.length < length) {
                    throw new EOFException();
                }
                return body;
            }
        }
        return new byte[0];
    }

    @Override
    public void close() throws IOException {
        listener.close();
    }
}
