package io.github.onewrite.driver;

import java.util.List;

/** Base libraries as people use them: Netty's bare codec pipeline, and OkHttp. The adapter is not loaded. */
final class StockKind implements Kind {
    @Override
    public List<String> apis() {
        return List.of("netty", "okhttp");
    }

    @Override
    public List<String> capabilities() {
        return Bodies.allWith(
                "cancel",
                "proxy_forward",
                "proxy_connect",
                "socket_options",
                "custom_connector",
                "concurrency",
                "chunk_times",
                "load",
                "serve");
    }

    @Override
    public Client open(Options options) {
        if (options.withHooks()) {
            throw new Skip("a stock client has no timing hooks");
        }
        if (options.api().equals("okhttp")) {
            return new OkHttp(options, null);
        }
        options.refuseRetriesAndRedirects();
        return new BareNetty(options, false);
    }
}
