package io.github.onewrite.bench.jmh;

import io.netty.channel.EventLoopGroup;
import java.net.URI;

/**
 * A client under test: sends a POST on a kept-alive connection and reads the response. Several threads may share it; up
 * to {@link #MOST_CALLERS} of them each get a connection of their own.
 */
interface Poster extends AutoCloseable {
    /** Connections of a pool, where its default is smaller. */
    int MOST_CALLERS = 64;

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
            case "reactor-netty" -> new Competitors.ReactorNetty(url, body, group);
            case "async-http-client" -> new Competitors.AsyncHttp(url, body, group);
            case "java.net.http" -> new Competitors.Jdk(url, body);
            case "okhttp" -> new Competitors.Ok(url, body);
            case "apache-5" -> new Competitors.Apache5(url, body);
            case "apache-5-async" -> new Competitors.Apache5Async(url, body);
            case "jetty" -> new Competitors.Jetty(url, body);
            case "vertx" -> new Competitors.Vertx(url, body);
            default -> throw new IllegalArgumentException("no client " + name);
        };
    }
}
