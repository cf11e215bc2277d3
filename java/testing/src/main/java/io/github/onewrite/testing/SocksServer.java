package io.github.onewrite.testing;

import java.io.DataInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Proxy;
import java.net.ServerSocket;
import java.net.Socket;

/** A SOCKS 5 proxy without authentication, for servers on the loopback, however these are called (RFC 1928). */
public final class SocksServer implements AutoCloseable {
    private static final int NAME = 3;
    private static final byte[] NO_AUTHENTICATION = {5, 0};
    private static final byte[] CONNECTED = {5, 0, 0, 1, 127, 0, 0, 1, 0, 0};

    private final ServerSocket listener = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());

    public SocksServer() throws IOException {
        daemon(() -> {
            while (true) {
                Socket socket = listener.accept();
                daemon(() -> serve(socket));
            }
        });
    }

    public int port() {
        return listener.getLocalPort();
    }

    public Proxy proxy() {
        return new Proxy(Proxy.Type.SOCKS, new InetSocketAddress(InetAddress.getLoopbackAddress(), port()));
    }

    private interface Task {
        void run() throws IOException;
    }

    private static void daemon(Task task) {
        Thread thread = new Thread(
                () -> {
                    try {
                        task.run();
                    } catch (IOException e) {
                        // One of the two ends has closed, or the listener: the end.
                    }
                },
                "socks-server");
        thread.setDaemon(true);
        thread.start();
    }

    private static void serve(Socket socket) throws IOException {
        try (socket) {
            DataInputStream in = new DataInputStream(socket.getInputStream());
            OutputStream out = socket.getOutputStream();
            in.readByte();
            in.skipNBytes(in.readUnsignedByte());
            out.write(NO_AUTHENTICATION);
            // Version, command, reserved.
            in.skipNBytes(3);
            in.skipNBytes(in.readByte() == NAME ? in.readUnsignedByte() : 4);
            int port = in.readUnsignedShort();
            try (Socket origin = new Socket(InetAddress.getLoopbackAddress(), port)) {
                out.write(CONNECTED);
                InputStream answers = origin.getInputStream();
                daemon(() -> answers.transferTo(out));
                in.transferTo(origin.getOutputStream());
            }
        }
    }

    @Override
    public void close() throws IOException {
        listener.close();
    }
}
