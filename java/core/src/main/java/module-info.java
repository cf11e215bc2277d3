/** Timing record, listener, configuration and errors common to the onewrite adapters. */
module io.github.onewrite.core {
    requires static org.jspecify;

    exports io.github.onewrite;
}
