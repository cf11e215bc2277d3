package io.github.onewrite.bench.jmh;

import java.net.URI;

/** One client under test: sends a POST on a kept connection and reads the answer. One caller at a time. */
interface Poster extends AutoCloseable {
    /** Returns the status. */
    int post() throws Exception;

    @Override
    void close() throws Exception;

    static Poster of(String name, URI url, byte[] body) throws Exception {
        return switch (name) {
            case "raw-netty" -> new RawNetty(url, body);
            case "onewrite" -> new Onewrite(url, body, Onewrite.Hook.NONE);
            case "onewrite-timing" -> new Onewrite(url, body, Onewrite.Hook.ON_TIMING);
            case "onewrite-listener" -> new Onewrite(url, body, Onewrite.Hook.LISTENER);
            case "reactor-netty" -> new Peers.ReactorNetty(url, body);
            case "async-http-client" -> new Peers.AsyncHttp(url, body);
            case "java.net.http" -> new Peers.Jdk(url, body);
            case "okhttp" -> new Peers.Ok(url, body);
            case "apache-5" -> new Peers.Apache5(url, body);
            case "jetty" -> new Peers.Jetty(url, body);
            default -> throw new IllegalArgumentException("no client " + name);
        };
    }
}
