package io.github.onewrite.driver;

import java.util.List;

/**
 * The adapter's own client. With the api {@code netty} it chooses its transport, which is epoll on Linux because the
 * native library is on the driver's class path.
 */
final class OnewriteKind implements Kind {
    @Override
    public List<String> apis() {
        return List.of("netty", "netty-nio");
    }

    @Override
    public List<String> capabilities(String api) {
        return Bodies.plainWith(
                // A client of its own over Netty: not to be compared with a stock one.
                "own_client",
                "timing",
                "events",
                "dns_split",
                "tcp_info",
                "rwnd_limited",
                "response_floor",
                "cancel_connect",
                "total_timeout",
                "shared_clock",
                "queue",
                "informational",
                "cancel",
                "proxy_forward",
                "proxy_connect",
                "socket_options",
                "custom_connector",
                "expect_continue",
                "concurrency",
                "quickack",
                "load",
                "serve",
                "checked_options",
                "status",
                "system_properties");
    }

    @Override
    public Client open(Options options) {
        options.refuseRetriesAndRedirects();
        return new OwnClient(options);
    }
}
