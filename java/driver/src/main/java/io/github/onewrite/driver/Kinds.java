package io.github.onewrite.driver;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A client kind of the protocol. {@code onewrite} is Netty's own pool with the customizer of Netty, {@code stock} the same
 * without; their apis are {@code netty}, whose transport is epoll on Linux, and {@code netty-nio}. {@code patched} are other
 * libraries' clients with the customizer; they are {@code stock} without. {@code control} stalls.
 */
enum Kinds {
    ONEWRITE,
    PATCHED,
    STOCK,
    CONTROL;

    private static final List<String> NETTY = List.of("netty", "netty-nio");
    private static final List<String> OTHERS = List.of("okhttp", "reactor-netty");

    private static final List<String> PLAIN = List.of(
            "cancel",
            "concurrency",
            "load",
            "serve",
            "body:bytes",
            "body:text",
            "body:memory_file",
            "body:file",
            "body:stream");

    /** The features of each library's client. Reactor Netty has no forward proxy: it makes a tunnel for http, too. */
    private static final Map<String, List<String>> FEATURES = Map.of(
            "netty",
            List.of("proxy_forward", "proxy_connect", "socket_options"),
            "okhttp",
            List.of(
                    "body:form",
                    "body:multipart",
                    "proxy_forward",
                    "proxy_connect",
                    "custom_connector",
                    "redirects",
                    "expect_continue"),
            "reactor-netty",
            List.of("body:form", "body:multipart", "proxy_connect", "socket_options", "redirects"));

    private static final List<String> HOOKS = List.of("timing", "dns_split", "shared_clock", "system_properties");

    /** The handlers of Netty see more than OkHttp's listener, and a large body leaves with its head. */
    private static final List<String> NETTY_HOOKS = List.of("queue", "writes", "gather");

    static Kinds of(String name) {
        for (Kinds each : values()) {
            if (each.protocolName().equals(name)) {
                return each;
            }
        }
        throw new Skip("unknown client kind " + name);
    }

    private String protocolName() {
        return name().toLowerCase(Locale.ROOT);
    }

    /**
     * The apis a process serves, the default first: all that the kind can drive, or only the one that ONEWRITE_DRIVER_API
     * names, which is how the judge tests the clients of other base libraries.
     */
    List<String> apis() {
        List<String> all = new ArrayList<>(this == PATCHED ? List.of() : this == CONTROL ? List.of("netty") : NETTY);
        if (this == PATCHED || this == STOCK) {
            all.addAll(OTHERS);
        }
        String only = System.getenv("ONEWRITE_DRIVER_API");
        if (only != null && !all.contains(only)) {
            throw new Skip("api " + only + " is not one of " + all);
        }
        return only == null ? all : List.of(only);
    }

    List<String> capabilities(String api) {
        List<String> all = new ArrayList<>(PLAIN);
        all.addAll(FEATURES.get(baseName(api)));
        if (this == STOCK || this == CONTROL) {
            return all;
        }
        all.addAll(HOOKS);
        if (!api.equals("okhttp")) {
            all.addAll(NETTY_HOOKS);
        }
        if (!api.equals("reactor-netty")) {
            all.add("informational");
        }
        if (OTHERS.contains(api)) {
            all.add("resend");
        }
        if (api.equals("netty") || api.equals("reactor-netty")) {
            all.addAll(List.of("tcp_info", "rwnd_limited"));
        }
        return all;
    }

    Client open(Options options) {
        for (String need : options.needs()) {
            if (!capabilities(options.api()).contains(need)) {
                throw new Skip("the " + protocolName() + " client of " + options.api() + " has no " + need);
            }
        }
        if (options.poolTimeoutMs() > 0 && options.api().equals("okhttp")) {
            throw new Skip("okhttp has no time limit for the wait for a connection");
        }
        boolean customized = this == ONEWRITE || this == PATCHED;
        Recording recording =
                options.withHooks() ? new Recording(options.hooks().equals("raising")) : null;
        return switch (options.api()) {
            case "okhttp" -> new OkHttp(options, recording, customized ? Customizers.okHttp(options, recording) : null);
            case "reactor-netty" ->
                new ReactorNetty(options, recording, customized ? Customizers.reactorNetty(options, recording) : null);
            default ->
                new BareNetty(
                        options,
                        recording,
                        customized ? Customizers.netty(options, recording) : BareNetty.Customizer.NONE,
                        this == CONTROL);
        };
    }

    static String baseName(String api) {
        return OTHERS.contains(api) ? api : "netty";
    }

    /** By the name of its jar. */
    static String baseVersion(String api) {
        String artifact =
                switch (api) {
                    case "okhttp" -> "okhttp(?:-jvm)?";
                    case "reactor-netty" -> "reactor-netty-http";
                    default -> "netty-codec-http";
                };
        Matcher jar =
                Pattern.compile("/" + artifact + "-(\\d[^/:]*)\\.jar").matcher(System.getProperty("java.class.path"));
        return jar.find() ? jar.group(1) : "unknown";
    }

    /** The adapter's version, from the manifest of the driver's jar. */
    static String version() {
        String version = Kinds.class.getPackage().getImplementationVersion();
        return version == null ? "unknown" : version;
    }
}
