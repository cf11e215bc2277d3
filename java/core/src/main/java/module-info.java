/** Timing record, listener, configuration and errors common to the onewrite adapters. */
module io.github.onewrite.core {
    requires static org.jspecify;
    requires static jdk.jfr;

    exports io.github.onewrite;
    exports io.github.onewrite.internal to
            io.github.onewrite.netty,
            io.github.onewrite.client,
            io.github.onewrite.okhttp,
            io.github.onewrite.reactor.netty,
            io.github.onewrite.spring.boot,
            io.github.onewrite.ahc,
            io.github.onewrite.opentelemetry;
}
