/** TCP_NODELAY, one write per small request and the common timing record for Reactor Netty's HTTP client. */
module io.github.onewrite.reactor.netty {
    requires transitive io.github.onewrite.core;
    requires io.github.onewrite.netty;
    requires transitive reactor.netty.http;
    requires transitive reactor.netty.core;
    requires reactor.core;
    requires org.reactivestreams;
    requires io.netty.codec.http;
    requires io.netty.common;
    requires io.netty.resolver;
    requires io.netty.transport;
    requires static org.jspecify;

    exports io.github.onewrite.reactornetty;
}
