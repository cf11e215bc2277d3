/** A lean HTTP/1.1 client over Netty. */
module io.github.onewrite.client {
    requires transitive io.github.onewrite.core;
    requires io.github.onewrite.netty;
    requires transitive io.netty.buffer;
    requires transitive io.netty.codec.http;
    requires transitive io.netty.common;
    requires transitive io.netty.handler;
    requires transitive io.netty.transport;
    requires io.netty.codec;
    requires io.netty.handler.proxy;
    requires transitive io.netty.resolver;
    requires static io.netty.transport.classes.epoll;
    requires static io.netty.transport.unix.common;
    requires static org.jspecify;

    exports io.github.onewrite.client;
}
