package io.github.onewrite.driver;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Properties;
import org.asynchttpclient.AsyncHttpClient;

/** The libraries whose own clients the adapter customizes. A stock process opens them without a customizer. */
enum Library {
    OKHTTP("okhttp") {
        @Override
        String version() {
            return okhttp3.OkHttp.VERSION;
        }

        @Override
        List<String> features() {
            return List.of("proxy_forward", "proxy_connect", "custom_connector", "redirects");
        }

        @Override
        List<String> hooks() {
            return List.of("timing", "events", "dns_split");
        }

        @Override
        Client open(Options options, boolean customized) {
            return new OkHttp(options, customized ? Customizers.okHttp(options) : null);
        }
    },

    REACTOR_NETTY("reactor-netty") {
        @Override
        String version() {
            return reactor.netty.http.client.HttpClient.class.getPackage().getImplementationVersion();
        }

        @Override
        List<String> features() {
            // Its proxy handler makes a tunnel for http, too.
            return List.of("proxy_connect", "socket_options", "redirects");
        }

        @Override
        List<String> hooks() {
            return List.of(
                    "timing", "events", "dns_split", "queue", "attempts", "tcp_info", "rwnd_limited", "quickack");
        }

        @Override
        Client open(Options options, boolean customized) {
            return new ReactorNetty(options, customized ? Customizers.reactorNetty(options) : null);
        }
    },

    AHC("ahc") {
        @Override
        String version() {
            // What AsyncHttpClientConfigDefaults.AHC_VERSION says was never filled in.
            Properties maven = new Properties();
            try (InputStream in = AsyncHttpClient.class.getResourceAsStream(
                    "/META-INF/maven/org.asynchttpclient/async-http-client/pom.properties")) {
                maven.load(in);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
            return maven.getProperty("version");
        }

        @Override
        List<String> features() {
            return List.of("proxy_forward", "proxy_connect", "socket_options", "retries", "redirects", "total_timeout");
        }

        @Override
        List<String> hooks() {
            return List.of("timing", "events", "dns_split", "attempts", "tcp_info", "rwnd_limited", "quickack");
        }

        @Override
        Client open(Options options, boolean customized) {
            return new Ahc(options, customized ? Customizers.ahc(options) : null);
        }
    };

    private final String api;

    Library(String api) {
        this.api = api;
    }

    /** Its name in the protocol, which is the base library's. */
    String api() {
        return api;
    }

    abstract String version();

    /** What its client can do. */
    abstract List<String> features();

    /** What is seen of its calls by way of the customizer. */
    abstract List<String> hooks();

    /** @param customized whether the adapter is applied to the client */
    abstract Client open(Options options, boolean customized);

    /** Capabilities of its client, with or without the customizer. */
    List<String> capabilities(boolean customized) {
        List<String> all = new ArrayList<>(List.of("cancel", "concurrency", "chunk_times", "load", "serve"));
        all.addAll(features());
        if (customized) {
            all.addAll(hooks());
            all.addAll(List.of("shared_clock", "checked_options", "system_properties"));
        }
        return Bodies.allWith(all.toArray(String[]::new));
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
