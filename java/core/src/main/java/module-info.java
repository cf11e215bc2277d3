/** Timing record, listener, configuration and errors common to the onewrite adapters. */
module io.github.onewrite.core {
    requires static org.jspecify;
    requires static jdk.jfr;
    requires static io.netty.buffer;
    requires static io.netty.codec;
    requires static io.netty.codec.http;
    requires static io.netty.common;
    requires static io.netty.handler;
    requires static io.netty.transport;
    requires static io.netty.transport.classes.epoll;
    requires static io.netty.transport.unix.common;

    exports io.github.onewrite;
    exports io.github.onewrite.internal to
            io.github.onewrite.netty,
            io.github.onewrite.okhttp,
            io.github.onewrite.reactor.netty,
            io.github.onewrite.ahc;
    exports io.github.onewrite.internal.netty to
            io.github.onewrite.netty,
            io.github.onewrite.reactor.netty,
            io.github.onewrite.ahc;
}
