package io.github.onewrite.driver;

import java.util.ArrayList;
import java.util.List;

/** The base libraries without the adapter, which is not loaded: Netty's bare codec pipeline, and other clients. */
final class StockKind implements Kind {
    @Override
    public List<String> apis() {
        List<String> all = new ArrayList<>(List.of("netty"));
        all.addAll(Library.apis());
        return all;
    }

    @Override
    public List<String> capabilities(String api) {
        Library library = Library.of(api);
        return library != null ? library.capabilities(false) : BareNetty.CAPABILITIES;
    }

    @Override
    public Client open(Options options) {
        if (options.withHooks()) {
            throw new Skip("a stock client has no timing hooks");
        }
        Library library = Library.of(options.api());
        if (library != null) {
            return library.open(options, false);
        }
        options.refuseRetriesAndRedirects();
        return new BareNetty(options, false);
    }
}
