package io.github.onewrite.driver;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.function.BiFunction;
import java.util.function.Supplier;
import org.asynchttpclient.AsyncHttpClient;

/**
 * A library whose own client the adapter customizes. A stock process opens it without a customizer.
 *
 * @param api its name in the protocol, which is the base library's
 * @param features what the client can do
 * @param hooks what the customizer can report of its calls
 * @param opener opens a client; the flag says whether the adapter is applied to it
 */
record Library(
        String api,
        Supplier<String> version,
        List<String> features,
        List<String> hooks,
        BiFunction<Options, Boolean, Client> opener) {

    private static final List<Library> ALL = List.of(
            new Library(
                    "okhttp",
                    () -> okhttp3.OkHttp.VERSION,
                    List.of("proxy_forward", "proxy_connect", "custom_connector", "redirects"),
                    List.of("timing", "events", "dns_split"),
                    (options, customized) -> new OkHttp(options, customized ? Customizers.okHttp(options) : null)),
            // No forward proxy: its proxy handler makes a tunnel for http, too.
            new Library(
                    "reactor-netty",
                    () -> reactor.netty.http.client.HttpClient.class
                            .getPackage()
                            .getImplementationVersion(),
                    List.of("proxy_connect", "socket_options", "redirects"),
                    List.of(
                            "timing",
                            "events",
                            "dns_split",
                            "queue",
                            "attempts",
                            "tcp_info",
                            "rwnd_limited",
                            "quickack"),
                    (options, customized) ->
                            new ReactorNetty(options, customized ? Customizers.reactorNetty(options) : null)),
            new Library(
                    "ahc",
                    Library::ahcVersion,
                    List.of(
                            "proxy_forward",
                            "proxy_connect",
                            "socket_options",
                            "retries",
                            "redirects",
                            "total_timeout"),
                    List.of("timing", "events", "dns_split", "attempts", "tcp_info", "rwnd_limited", "quickack"),
                    (options, customized) -> new Ahc(options, customized ? Customizers.ahc(options) : null)));

    /** @param customized whether the adapter is applied to the client */
    Client open(Options options, boolean customized) {
        return opener.apply(options, customized);
    }

    /** Capabilities of its client, with or without the customizer. */
    List<String> capabilities(boolean customized) {
        List<String> all = new ArrayList<>(List.of("cancel", "concurrency", "load", "serve"));
        all.addAll(features);
        if (customized) {
            all.addAll(hooks);
            all.addAll(List.of("shared_clock", "checked_options", "system_properties"));
        }
        return Bodies.allWith(all.toArray(String[]::new));
    }

    /** From its Maven properties, because its constant AsyncHttpClientConfigDefaults.AHC_VERSION is not filled in. */
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
        return ALL.stream().map(Library::api).toList();
    }

    /** The library of this api, or null. */
    static Library of(String api) {
        return ALL.stream().filter(one -> one.api.equals(api)).findFirst().orElse(null);
    }
}
