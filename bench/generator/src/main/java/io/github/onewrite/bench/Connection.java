package io.github.onewrite.bench;

import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.Locale;

/**
 * One kept-alive connection: TCP_NODELAY, one write per request, so that no stall is the generator's. Reads answers
 * with a Content-Length (or none: then the body is empty), which is what bridges and origins of the bench send.
 */
final class Connection {
    private final Socket socket = new Socket();
    private final InputStream in;
    private final OutputStream out;
    private byte[] buffer = new byte[65536];
    private int filled;

    Connection(URI url, int timeoutMs) throws IOException {
        socket.setTcpNoDelay(true);
        socket.connect(new InetSocketAddress(url.getHost(), url.getPort()), timeoutMs);
        socket.setSoTimeout(timeoutMs);
        in = socket.getInputStream();
        out = socket.getOutputStream();
    }

    /** Sends a request, reads its answer to the end, returns the status. */
    int exchange(byte[] request) throws IOException {
        out.write(request);
        filled = 0;
        int headEnd;
        while ((headEnd = endOfHead()) < 0) {
            fill();
        }
        String head = new String(buffer, 0, headEnd, StandardCharsets.ISO_8859_1).toLowerCase(Locale.ROOT);
        int at = head.indexOf("\r\ncontent-length:");
        int length = at < 0 ? 0 : Integer.parseInt(head.substring(at + 17).split("\r\n", 2)[0].trim());
        while (filled < headEnd + length) {
            fill();
        }
        if (head.contains("\r\nconnection: close")) {
            throw new IOException("the server closes its connections");
        }
        return Integer.parseInt(head.substring(9, 12));
    }

    private int endOfHead() {
        for (int i = 3; i < filled; i++) {
            if (buffer[i] == '\n' && buffer[i - 1] == '\r' && buffer[i - 2] == '\n' && buffer[i - 3] == '\r') {
                return i + 1;
            }
        }
        return -1;
    }

    private void fill() throws IOException {
        if (filled == buffer.length) {
            buffer = java.util.Arrays.copyOf(buffer, buffer.length * 2);
        }
        int count = in.read(buffer, filled, buffer.length - filled);
        if (count < 0) {
            throw new EOFException("the server closed the connection");
        }
        filled += count;
    }

    void close() {
        try {
            socket.close();
        } catch (IOException e) {
            // Nothing is lost: the exchange on it is over or has failed already.
        }
    }
}
