/** TCP_NODELAY and the common timing record for AsyncHttpClient. */
module io.github.onewrite.ahc {
    requires transitive io.github.onewrite.core;
    requires io.github.onewrite.netty;
    requires transitive async.http.client;
    requires io.netty.codec.http;
    requires io.netty.common;
    requires io.netty.transport;
    requires static org.jspecify;

    exports io.github.onewrite.ahc;
}
