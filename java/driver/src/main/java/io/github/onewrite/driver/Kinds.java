package io.github.onewrite.driver;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A client kind of the protocol. {@code onewrite} is the adapter's own client and {@code stock} bare Netty, both with the
 * apis {@code netty}, whose transport is epoll on Linux, and {@code netty-nio}. {@code patched} are other libraries'
 * clients with the customizer; they are {@code stock} without. {@code control} stalls.
 */
enum Kinds {
    ONEWRITE,
    PATCHED,
    STOCK,
    CONTROL;

    private static final List<String> NETTY = List.of("netty", "netty-nio");

    private static final List<String> PLAIN = List.of(
            "cancel",
            "concurrency",
            "load",
            "serve",
            "objects",
            "body:none",
            "body:bytes",
            "body:text",
            "body:memory_file",
            "body:file",
            "body:stream");
    private static final List<String> FORMS = List.of("body:form", "body:multipart");
    private static final List<String> HOOKS =
            List.of("timing", "events", "dns_split", "shared_clock", "checked_options", "status", "system_properties");
    private static final List<String> EPOLL = List.of("tcp_info", "rwnd_limited", "quickack");

    private static final List<String> OF_NETTY =
            List.of("proxy_forward", "proxy_connect", "socket_options", "custom_connector", "cancel_connect");

    /** What each library's own client can do. Reactor Netty has no forward proxy: it makes a tunnel for http, too. */
    private static final Map<String, List<String>> FEATURES = new LinkedHashMap<>();

    static {
        FEATURES.put(
                "okhttp",
                List.of("proxy_forward", "proxy_connect", "custom_connector", "redirects", "expect_continue"));
        FEATURES.put("reactor-netty", List.of("proxy_connect", "socket_options", "redirects"));
        FEATURES.put("ahc", List.of("proxy_forward", "proxy_connect", "socket_options", "retries", "redirects"));
    }

    static Kinds of(String name) {
        for (Kinds each : values()) {
            if (each.protocolName().equals(name)) {
                return each;
            }
        }
        throw new Skip("unknown client kind " + name);
    }

    String protocolName() {
        return name().toLowerCase(Locale.ROOT);
    }

    /**
     * The apis a process serves, the default first: all that the kind can drive, or only the one that ONEWRITE_DRIVER_API
     * names, which is how the judge tests the clients of other base libraries.
     */
    List<String> apis() {
        List<String> all = new ArrayList<>(this == PATCHED ? List.of() : this == CONTROL ? List.of("netty") : NETTY);
        if (this == PATCHED || this == STOCK) {
            all.addAll(FEATURES.keySet());
        }
        String only = System.getenv("ONEWRITE_DRIVER_API");
        if (only != null && !all.contains(only)) {
            throw new Skip("api " + only + " is not one of " + all);
        }
        return only == null ? all : List.of(only);
    }

    List<String> capabilities(String api) {
        List<String> all = new ArrayList<>(PLAIN);
        if (NETTY.contains(api)) {
            all.addAll(OF_NETTY);
        } else {
            all.addAll(FORMS);
            all.addAll(FEATURES.get(api));
        }
        if (this == ONEWRITE || this == PATCHED) {
            all.addAll(HOOKS);
            if (!api.equals("okhttp") && !api.equals("netty-nio")) {
                all.addAll(EPOLL);
            }
            if (!api.equals("okhttp") && !api.equals("ahc")) {
                all.add("queue");
            }
            if (this == ONEWRITE) {
                all.add("informational");
            } else if (!api.equals("ahc")) {
                all.add("attempts");
            }
            if (api.equals("ahc")) {
                all.remove("dns_split");
            }
        }
        return all;
    }

    Client open(Options options) {
        for (String need : options.needs()) {
            if (!capabilities(options.api()).contains(need)) {
                throw new Skip("the " + protocolName() + " client of " + options.api() + " has no " + need);
            }
        }
        if (options.poolTimeoutMs() > 0
                && (options.api().equals("okhttp") || options.api().equals("ahc"))) {
            throw new Skip(options.api() + " has no time limit for its queue");
        }
        boolean patched = this == PATCHED;
        return switch (options.api()) {
            case "okhttp" -> new OkHttp(options, patched ? Customizers.okHttp(options) : null);
            case "reactor-netty" -> new ReactorNetty(options, patched ? Customizers.reactorNetty(options) : null);
            case "ahc" -> new Ahc(options, patched);
            default -> this == ONEWRITE ? new OwnClient(options) : new BareNetty(options, this == CONTROL);
        };
    }

    static String baseName(String api) {
        return FEATURES.containsKey(api) ? api : "netty";
    }

    /** By the name of its jar. */
    static String baseVersion(String api) {
        String artifact =
                switch (api) {
                    case "okhttp" -> "okhttp(?:-jvm)?";
                    case "reactor-netty" -> "reactor-netty-http";
                    case "ahc" -> "async-http-client";
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
