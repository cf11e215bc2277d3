package io.github.onewrite.driver;

import java.util.List;

/** Other libraries' own clients after the adapter's customizer. */
final class PatchedKind implements Kind {
    @Override
    public String baseName() {
        return "okhttp";
    }

    @Override
    public String baseVersion() {
        return okhttp3.OkHttp.VERSION;
    }

    @Override
    public List<String> apis() {
        return List.of("okhttp");
    }

    @Override
    public List<String> capabilities() {
        return Bodies.allWith(
                "timing",
                "events",
                "dns_split",
                "shared_clock",
                "cancel",
                "proxy_forward",
                "proxy_connect",
                "custom_connector",
                "redirects",
                "concurrency",
                "load",
                "serve",
                "checked_options",
                "system_properties",
                "chunk_times");
    }

    @Override
    public Client open(Options options) {
        return new OkHttp(options, OkHttpCure.of(options));
    }
}
