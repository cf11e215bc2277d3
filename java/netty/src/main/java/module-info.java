/** One write per request, TCP_NODELAY and timing for any HTTP/1.1 pipeline of Netty. */
@SuppressWarnings("module") // The adapters are compiled after it.
module io.github.onewrite.netty {
    requires transitive io.github.onewrite.core;
    requires transitive io.netty.buffer;
    requires io.netty.codec;
    requires io.netty.codec.http;
    requires io.netty.common;
    requires io.netty.handler;
    requires static io.netty.handler.proxy;
    requires io.netty.resolver;
    requires transitive io.netty.transport;
    requires static io.netty.transport.unix.common;
    requires static org.jspecify;

    exports io.github.onewrite.netty;
    exports io.github.onewrite.netty.internal to
            io.github.onewrite.reactor.netty;
}
