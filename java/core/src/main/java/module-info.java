/** Timing record, listener, configuration and errors common to the onewrite adapters. */
module io.github.onewrite.core {
    requires static org.jspecify;
    requires static jdk.jfr;

    exports io.github.onewrite;
    exports io.github.onewrite.spi;
}
