package io.github.onewrite.driver;

import java.util.List;

/** The control that stalls: bare Netty with Nagle's algorithm on, head and body in two writes. */
final class ControlKind implements Kind {
    @Override
    public List<String> apis() {
        return List.of("netty");
    }

    @Override
    public List<String> capabilities(String api) {
        return Bodies.allWith("cancel", "proxy_forward", "proxy_connect", "concurrency", "load", "serve");
    }

    @Override
    public Client open(Options options) {
        options.refuseRetriesAndRedirects();
        if (options.withHooks()) {
            throw new Skip("the control has no timing hooks");
        }
        return new BareNetty(options, true);
    }
}
