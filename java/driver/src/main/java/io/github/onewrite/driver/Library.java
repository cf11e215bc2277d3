package io.github.onewrite.driver;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Properties;
import java.util.function.BiFunction;
import java.util.function.Supplier;
import org.asynchttpclient.AsyncHttpClient;

/** The libraries whose own clients the adapter customizes. A stock process opens them without a customizer. */
enum Library {
    OKHTTP(
            "okhttp",
            () -> okhttp3.OkHttp.VERSION,
            List.of("proxy_forward", "proxy_connect", "custom_connector", "redirects"),
            List.of("timing", "events", "dns_split"),
            (options, customized) -> new OkHttp(options, customized ? Customizers.okHttp(options) : null)),

    /** Its proxy handler makes a tunnel for http, too: no forward proxy. */
    REACTOR_NETTY(
            "reactor-netty",
            () -> reactor.netty.http.client.HttpClient.class.getPackage().getImplementationVersion(),
            List.of("proxy_connect", "socket_options", "redirects"),
            List.of("timing", "events", "dns_split", "queue", "attempts", "tcp_info", "rwnd_limited", "quickack"),
            (options, customized) -> new ReactorNetty(options, customized ? Customizers.reactorNetty(options) : null)),

    AHC(
            "ahc",
            Library::ahcVersion,
            List.of("proxy_forward", "proxy_connect", "socket_options", "retries", "redirects", "total_timeout"),
            List.of("timing", "events", "dns_split", "attempts", "tcp_info", "rwnd_limited", "quickack"),
            (options, customized) -> new Ahc(options, customized ? Customizers.ahc(options) : null));

    private final String api;
    private final Supplier<String> version;
    private final List<String> features;
    private final List<String> hooks;
    private final BiFunction<Options, Boolean, Client> opener;

    /**
     * @param features what its client can do
     * @param hooks what is seen of its calls by way of the customizer
     */
    Library(
            String api,
            Supplier<String> version,
            List<String> features,
            List<String> hooks,
            BiFunction<Options, Boolean, Client> opener) {
        this.api = api;
        this.version = version;
        this.features = features;
        this.hooks = hooks;
        this.opener = opener;
    }

    /** Its name in the protocol, which is the base library's. */
    String api() {
        return api;
    }

    String version() {
        return version.get();
    }

    /** @param customized whether the adapter is applied to the client */
    Client open(Options options, boolean customized) {
        return opener.apply(options, customized);
    }

    /** Capabilities of its client, with or without the customizer. */
    List<String> capabilities(boolean customized) {
        List<String> all = new ArrayList<>(List.of("cancel", "concurrency", "chunk_times", "load", "serve"));
        all.addAll(features);
        if (customized) {
            all.addAll(hooks);
            all.addAll(List.of("shared_clock", "checked_options", "system_properties"));
        }
        return Bodies.allWith(all.toArray(String[]::new));
    }

    /** From its Maven properties: its own constant, AsyncHttpClientConfigDefaults.AHC_VERSION, was never filled in. */
    private static String ahcVersion() {
        Properties maven = new Properties();
        try (InputStream in = AsyncHttpClient.class.getResourceAsStream(
                "/META-INF/maven/org.asynchttpclient/async-http-client/pom.properties")) {
            maven.load(in);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return maven.getProperty("version");
    }

    static List<String> apis() {
        return Arrays.stream(values()).map(Library::api).toList();
    }

    /** The library of this api, or null. */
    static Library of(String api) {
        for (Library library : values()) {
            if (library.api.equals(api)) {
                return library;
            }
        }
        return null;
    }
}
