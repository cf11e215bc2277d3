package io.github.onewrite.bench.jmh;

import io.netty.channel.EventLoopGroup;
import java.net.URI;

/**
 * One client under test: sends a POST on a kept connection and reads the answer. Callers share it; each has a
 * connection to itself, up to {@link #MOST_CALLERS}.
 */
interface Poster extends AutoCloseable {
    /** Pools whose default is smaller are given so many connections. */
    int MOST_CALLERS = 64;

    /** Returns the status. */
    int post() throws Exception;

    @Override
    void close() throws Exception;

    /**
     * Makes the client of this name.
     *
     * @param group one event loop on NIO, for those that can be given Netty's: where the kernel puts a thread would
     *     count for more than what is measured
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
