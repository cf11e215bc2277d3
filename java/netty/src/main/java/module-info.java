/** What the onewrite adapters of Netty and of the clients that stand on it share. No public API. */
module io.github.onewrite.netty {
    requires transitive io.github.onewrite.core;
    requires io.netty.buffer;
    requires io.netty.codec;
    requires io.netty.codec.http;
    requires io.netty.common;
    requires io.netty.handler;
    requires io.netty.transport;
    requires static io.netty.transport.classes.epoll;
    requires static io.netty.transport.unix.common;
    requires static org.jspecify;

    exports io.github.onewrite.netty to
            io.github.onewrite.client,
            io.github.onewrite.reactor.netty,
            io.github.onewrite.ahc;
}
