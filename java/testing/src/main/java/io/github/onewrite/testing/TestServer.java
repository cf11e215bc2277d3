package io.github.onewrite.testing;

import java.io.BufferedInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.StandardSocketOptions;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.Base64;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;

/** A server on a real socket. A script, a function of one connection, says what it does. */
public final class TestServer implements AutoCloseable {
    public static final String OK = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

    /** Serves one connection, which is closed when it returns. */
    public interface Script {
        void on(Connection connection) throws Exception;
    }

    public record Received(String head, byte[] body) {
        /** The value of a header, or null. */
        public String header(String name) {
            return head.lines()
                    .filter(line -> line.toLowerCase(Locale.ROOT).startsWith(name + ":"))
                    .map(line -> line.substring(name.length() + 1).strip())
                    .findFirst()
                    .orElse(null);
        }
    }

    /** Sockets that are bound and do not listen, open as long as this process. */
    private static final List<Socket> RESERVED = new CopyOnWriteArrayList<>();

    private final ServerSocket listener;
    private final List<Socket> sockets = new CopyOnWriteArrayList<>();
    private final AtomicInteger closed = new AtomicInteger();
    private final List<Received> requests = new CopyOnWriteArrayList<>();

    public TestServer(Script script) throws IOException {
        this(new ServerSocket(0, 50, InetAddress.getLoopbackAddress()), script);
    }

    public TestServer(ServerSocket listener, Script script) {
        this.listener = listener;
        Thread acceptor = new Thread(() -> accept(script), "test-server");
        acceptor.setDaemon(true);
        acceptor.start();
    }

    /** Answers every request with 200. */
    public static TestServer answering() throws IOException {
        return answering(new ServerSocket(0, 50, InetAddress.getLoopbackAddress()));
    }

    /** Answers every request with 200, on this socket. */
    public static TestServer answering(ServerSocket listener) {
        return new TestServer(listener, connection -> connection.answerAll(OK));
    }

    /** Answers every request with these bytes. */
    public static TestServer answering(String answer) throws IOException {
        return new TestServer(connection -> connection.answerAll(answer));
    }

    /** Answers requests that begin with these words with these bytes, and all others with 200. */
    public static TestServer answering(String words, String answer) throws IOException {
        return new TestServer(connection -> {
            while (true) {
                connection.send(connection.read().head().startsWith(words) ? answer : OK);
            }
        });
    }

    /** Answers every request with these bytes, once the latch is open. */
    public static TestServer answeringAfter(CountDownLatch go, String answer) throws IOException {
        return new TestServer(connection -> {
            while (true) {
                connection.read();
                go.await();
                connection.send(answer);
            }
        });
    }

    /** Answers every request with 200 except this one, counted over all connections: it closes instead. */
    public static TestServer closingAt(int request) throws IOException {
        AtomicInteger received = new AtomicInteger();
        return new TestServer(connection -> {
            while (true) {
                connection.read();
                if (received.incrementAndGet() == request) {
                    return;
                }
                connection.send(OK);
            }
        });
    }

    /** Reads a request of each connection, and never answers. */
    public static TestServer silent() throws IOException {
        return new TestServer(connection -> {
            connection.read();
            connection.drain();
        });
    }

    /**
     * A port of the loopback on which nobody listens. It stays reserved for this process's user: only a program that sets
     * SO_REUSEPORT can listen on it.
     */
    public static int unusedPort() throws IOException {
        Socket bound = new Socket();
        bound.setOption(StandardSocketOptions.SO_REUSEPORT, true);
        bound.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
        RESERVED.add(bound);
        return bound.getLocalPort();
    }

    private void accept(Script script) {
        try {
            while (true) {
                Socket socket = listener.accept();
                socket.setTcpNoDelay(true);
                sockets.add(socket);
                int number = sockets.size();
                Thread thread = new Thread(() -> serve(socket, number, script), "test-connection");
                thread.setDaemon(true);
                thread.start();
            }
        } catch (IOException e) {
            // The test is over: the listener is closed.
        }
    }

    private void serve(Socket socket, int number, Script script) {
        try (socket) {
            script.on(new Connection(socket, number));
        } catch (EOFException e) {
            // The client closed an idle connection.
        } catch (Exception e) {
            if (!listener.isClosed()) {
                System.getLogger("test").log(System.Logger.Level.DEBUG, "connection ended", e);
            }
        } finally {
            closed.incrementAndGet();
        }
    }

    public int port() {
        return listener.getLocalPort();
    }

    public String url() {
        return "http://127.0.0.1:" + port() + "/";
    }

    public int connections() {
        return sockets.size();
    }

    /** How many connections have been closed, by either side. */
    public int closed() {
        return closed.get();
    }

    public List<Received> requests() {
        return requests;
    }

    @Override
    public void close() throws IOException {
        listener.close();
        for (Socket socket : sockets) {
            socket.close();
        }
    }

    public final class Connection {
        private final Socket socket;
        private final InputStream in;
        private final int number;

        Connection(Socket socket, int number) throws IOException {
            this.socket = socket;
            this.in = new BufferedInputStream(socket.getInputStream());
            this.number = number;
        }

        /** 1 for the first connection. */
        public int number() {
            return number;
        }

        public Socket socket() {
            return socket;
        }

        /** The bytes that the client sends. */
        public InputStream in() {
            return in;
        }

        public Received read() throws IOException {
            String head = readHead();
            byte[] body = new byte[0];
            Received received = new Received(head, body);
            String length = received.header("content-length");
            if (length != null) {
                received = new Received(head, in.readNBytes(Integer.parseInt(length)));
                if (received.body().length < Integer.parseInt(length)) {
                    throw new EOFException();
                }
            } else if ("chunked".equals(received.header("transfer-encoding"))) {
                received = new Received(head, readChunks());
            }
            requests.add(received);
            return received;
        }

        public String readHead() throws IOException {
            StringBuilder head = new StringBuilder();
            while (head.length() < 4 || !head.substring(head.length() - 4).equals("\r\n\r\n")) {
                int next = in.read();
                if (next < 0) {
                    throw new EOFException();
                }
                head.append((char) next);
            }
            return head.toString();
        }

        private byte[] readChunks() throws IOException {
            java.io.ByteArrayOutputStream body = new java.io.ByteArrayOutputStream();
            while (true) {
                StringBuilder line = new StringBuilder();
                for (int c = in.read(); c != '\n'; c = in.read()) {
                    if (c < 0) {
                        throw new EOFException();
                    }
                    if (c != '\r') {
                        line.append((char) c);
                    }
                }
                int size = Integer.parseInt(line.toString(), 16);
                body.write(in.readNBytes(size));
                in.skipNBytes(2);
                if (size == 0) {
                    return body.toByteArray();
                }
            }
        }

        public void send(String bytes) throws IOException {
            socket.getOutputStream().write(bytes.getBytes(StandardCharsets.ISO_8859_1));
        }

        /** Reads the request for a WebSocket, and grants it. */
        public void switchToWebSocket() throws Exception {
            String key = read().header("sec-websocket-key");
            byte[] accept = MessageDigest.getInstance("SHA-1")
                    .digest((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").getBytes(StandardCharsets.US_ASCII));
            send("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                    + "Sec-WebSocket-Accept: " + Base64.getEncoder().encodeToString(accept) + "\r\n\r\n");
        }

        /** Answers each request with these bytes, until the client closes. */
        public void answerAll(String answer) throws IOException {
            while (true) {
                read();
                send(answer);
            }
        }

        /** Waits for the client to close; anything it sends meanwhile is dropped. */
        public void drain() throws IOException {
            in.transferTo(java.io.OutputStream.nullOutputStream());
        }

        public void reset() throws IOException {
            socket.setSoLinger(true, 0);
            socket.close();
        }
    }
}
