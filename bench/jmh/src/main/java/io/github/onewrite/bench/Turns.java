package io.github.onewrite.bench;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.TearDown;

/**
 * Synchronizes the forks of several variants: one iteration each, in random order. JMH itself runs one fork after the
 * other, and a shared machine changes from one minute to the next by more than the variants differ.
 */
public abstract class Turns {
    private Socket socket;

    /** Connects to the port of the property {@code turns}, when the fork is warm. Without it the fork runs alone. */
    final void join() throws IOException {
        int port = Integer.getInteger("turns", 0);
        if (port != 0) {
            socket = new Socket(InetAddress.getLoopbackAddress(), port);
        }
    }

    /** Waits for this fork's turn. */
    @Setup(Level.Iteration)
    public void beginTurn() throws IOException {
        if (socket != null && socket.getInputStream().read() < 0) {
            throw new IOException("the server of turns has ended");
        }
    }

    /** Ends this fork's turn. */
    @TearDown(Level.Iteration)
    public void endTurn() throws IOException {
        if (socket != null) {
            socket.getOutputStream().write(1);
        }
    }

    final void leave() throws IOException {
        if (socket != null) {
            socket.close();
        }
    }

    /** Runs the turns of this number of forks, from when all are warm until all have left. */
    static void schedule(ServerSocket server, int forks) throws IOException {
        List<Socket> connected = new ArrayList<>();
        while (connected.size() < forks) {
            connected.add(server.accept());
        }
        while (!connected.isEmpty()) {
            Collections.shuffle(connected);
            connected.removeIf(each -> !ranTurn(each));
        }
    }

    private static boolean ranTurn(Socket fork) {
        try {
            fork.getOutputStream().write(1);
            return fork.getInputStream().read() >= 0;
        } catch (IOException e) {
            return false;
        }
    }
}
