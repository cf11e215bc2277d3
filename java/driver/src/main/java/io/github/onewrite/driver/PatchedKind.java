package io.github.onewrite.driver;

import java.util.List;

/** Other libraries' clients with the adapter's customizer. */
final class PatchedKind implements Kind {
    @Override
    public List<String> apis() {
        return Library.apis();
    }

    @Override
    public List<String> capabilities(String api) {
        return Library.of(api).capabilities(true);
    }

    @Override
    public Client open(Options options) {
        return Library.of(options.api()).open(options, true);
    }
}
