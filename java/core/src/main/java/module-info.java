/** Timing record, hooks, switches and errors common to the onewrite adapters. */
@SuppressWarnings("module") // The adapters are compiled after it.
module io.github.onewrite.core {
    requires static org.jspecify;

    exports io.github.onewrite;
    exports io.github.onewrite.internal to
            io.github.onewrite.netty,
            io.github.onewrite.okhttp,
            io.github.onewrite.reactor.netty;
}
