package io.github.onewrite.bench.jmh;

import java.io.IOException;
import java.io.InputStream;
import java.net.Socket;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;

/**
 * Blocking sockets, one per caller. The request's bytes are made beforehand, and of the response only the status and
 * the end are looked at. No client can cost less.
 */
final class RawSocket implements Poster {
    private final Queue<Socket> sockets = new ConcurrentLinkedQueue<>();
    private final ThreadLocal<Caller> callers;

    RawSocket(URI url, byte[] body) {
        String head = "POST " + url.getRawPath() + " HTTP/1.1\r\nHost: " + url.getAuthority()
                + "\r\nContent-Type: application/octet-stream\r\nContent-Length: " + body.length + "\r\n\r\n";
        byte[] start = head.getBytes(StandardCharsets.US_ASCII);
        byte[] request = Arrays.copyOf(start, start.length + body.length);
        System.arraycopy(body, 0, request, start.length, body.length);
        callers = ThreadLocal.withInitial(() -> new Caller(connect(url), request));
    }

    private Socket connect(URI url) {
        try {
            Socket socket = new Socket(url.getHost(), url.getPort());
            sockets.add(socket);
            socket.setTcpNoDelay(true);
            return socket;
        } catch (IOException e) {
            throw new IllegalStateException("no connection to " + url, e);
        }
    }

    private static final class Caller {
        private static final byte[] END = "ok".getBytes(StandardCharsets.US_ASCII);

        private final Socket socket;
        private final byte[] request;
        private final byte[] answer = new byte[4096];

        Caller(Socket socket, byte[] request) {
            this.socket = socket;
            this.request = request;
        }

        int post() throws IOException {
            socket.getOutputStream().write(request);
            InputStream in = socket.getInputStream();
            int filled = 0;
            while (filled < END.length || answer[filled - 2] != END[0] || answer[filled - 1] != END[1]) {
                int read = in.read(answer, filled, answer.length - filled);
                if (read < 0) {
                    throw new IOException("the origin closed the connection");
                }
                filled += read;
            }
            return (answer[9] - '0') * 100 + (answer[10] - '0') * 10 + answer[11] - '0';
        }
    }

    @Override
    public int post() throws IOException {
        return callers.get().post();
    }

    @Override
    public void close() throws IOException {
        for (Socket socket : sockets) {
            socket.close();
        }
    }
}
