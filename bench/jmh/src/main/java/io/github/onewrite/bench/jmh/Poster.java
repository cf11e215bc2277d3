package io.github.onewrite.bench.jmh;

import io.netty.channel.EventLoopGroup;
import java.net.URI;

/**
 * A client under test: sends a POST on a kept-alive connection and reads the response. Several threads may share it;
 * then each thread has its connection.
 */
interface Poster extends AutoCloseable {
    /** Returns the status. */
    int post() throws Exception;

    @Override
    void close() throws Exception;

    /**
     * Creates the client of this name.
     *
     * @param group one NIO event loop, for the clients that accept one of Netty's. They share it, because the core on
     *     which the kernel runs a thread can matter more than the difference between two clients
     */
    static Poster of(String name, URI url, byte[] body, EventLoopGroup group) throws Exception {
        return switch (name) {
            case "raw-socket" -> new RawSocket(url, body);
            case "raw-netty" -> new RawNetty(url, body, group);
            case "onewrite" -> new Onewrite(url, body, group);
            default -> throw new IllegalArgumentException("no client " + name);
        };
    }
}
