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
 * Lets the forks of several variants take turns, one iteration each, in random order. JMH itself runs one fork after the
 * other, and a shared machine changes from one minute to the next by more than the variants differ.
 */
public abstract class Turns {
    private Socket socket;

    /** Called when the fork is warm. Without the property {@code turns}, the port of the one who gives them, does nothing. */
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
            throw new IOException("the process that gives turns has ended");
        }
    }

    /** Passes the turn on. */
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

    /** Gives turns to this number of forks from when all are warm until all have left. */
    static void give(ServerSocket server, int forks) throws IOException {
        List<Socket> taking = new ArrayList<>();
        while (taking.size() < forks) {
            taking.add(server.accept());
        }
        while (!taking.isEmpty()) {
            Collections.shuffle(taking);
            taking.removeIf(each -> !tookTurn(each));
        }
    }

    private static boolean tookTurn(Socket fork) {
        try {
            fork.getOutputStream().write(1);
            return fork.getInputStream().read() >= 0;
        } catch (IOException e) {
            return false;
        }
    }
}
