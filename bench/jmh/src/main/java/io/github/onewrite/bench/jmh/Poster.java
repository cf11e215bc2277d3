package io.github.onewrite.bench.jmh;

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

    static Poster of(String name, URI url, byte[] body) throws Exception {
        return switch (name) {
            case "raw-socket" -> new RawSocket(url, body);
            case "raw-netty" -> new RawNetty(url, body);
            case "onewrite" -> new Onewrite(url, body);
            case "reactor-netty" -> new Peers.ReactorNetty(url, body);
            case "async-http-client" -> new Peers.AsyncHttp(url, body);
            case "java.net.http" -> new Peers.Jdk(url, body);
            case "okhttp" -> new Peers.Ok(url, body);
            case "apache-5" -> new Peers.Apache5(url, body);
            case "apache-5-async" -> new Peers.Apache5Async(url, body);
            case "jetty" -> new Peers.Jetty(url, body);
            case "vertx" -> new Peers.Vertx(url, body);
            default -> throw new IllegalArgumentException("no client " + name);
        };
    }
}
