package io.github.onewrite.driver;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonPrimitive;
import io.netty.channel.ChannelOption;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import javax.net.ssl.SSLException;

/** The options of an {@code open} message. Absent numbers are -1, absent objects null. */
record Options(
        String api,
        int poolSize,
        boolean keepalive,
        Path tlsCa,
        InetSocketAddress proxy,
        Map<ChannelOption<Object>, Object> socketOptions,
        boolean customConnector,
        String hooks,
        int retries,
        boolean redirects,
        int connectTimeoutMs,
        int poolTimeoutMs,
        JsonObject adapter) {

    private static final Map<String, ChannelOption<?>> SOCKET_OPTIONS = Map.of(
            "TCP_NODELAY", ChannelOption.TCP_NODELAY,
            "SO_KEEPALIVE", ChannelOption.SO_KEEPALIVE,
            "SO_REUSEADDR", ChannelOption.SO_REUSEADDR,
            "SO_SNDBUF", ChannelOption.SO_SNDBUF,
            "SO_RCVBUF", ChannelOption.SO_RCVBUF);

    static Options parse(JsonObject json, String defaultApi) {
        URI proxy = Json.has(json, "proxy") ? URI.create(json.get("proxy").getAsString()) : null;
        return new Options(
                Json.string(json, "api", defaultApi),
                Json.integer(json, "pool_size", 1),
                Json.bool(json, "keepalive", true),
                Json.has(json, "tls_ca") ? Path.of(json.get("tls_ca").getAsString()) : null,
                proxy == null ? null : new InetSocketAddress(proxy.getHost(), proxy.getPort()),
                socketOptions(json),
                Json.bool(json, "custom_connector", false),
                Json.string(json, "hooks", "none"),
                Json.integer(json, "retries", 0),
                Json.bool(json, "redirects", false),
                Json.integer(json, "connect_timeout_ms", -1),
                Json.integer(json, "pool_timeout_ms", -1),
                Json.has(json, "adapter") ? json.getAsJsonObject("adapter") : new JsonObject());
    }

    boolean withHooks() {
        return !hooks.equals("none");
    }

    /** The capabilities that a client must have. */
    List<String> needs() {
        Map<String, Boolean> needs = Map.of(
                "timing",
                withHooks(),
                "retries",
                retries > 0,
                "redirects",
                redirects,
                "socket_options",
                !socketOptions.isEmpty(),
                "custom_connector",
                customConnector,
                "proxy_forward",
                proxy != null && tlsCa == null,
                "proxy_connect",
                proxy != null && tlsCa != null);
        return needs.keySet().stream().filter(needs::get).toList();
    }

    /** For clients on Netty. */
    SslContext sslContext() {
        try {
            SslContextBuilder builder = SslContextBuilder.forClient().endpointIdentificationAlgorithm("HTTPS");
            if (tlsCa != null) {
                builder.trustManager(tlsCa.toFile());
            }
            return builder.build();
        } catch (SSLException e) {
            throw new IllegalStateException("no TLS context from " + tlsCa, e);
        }
    }

    /** By their names in C. */
    @SuppressWarnings("unchecked")
    private static Map<ChannelOption<Object>, Object> socketOptions(JsonObject json) {
        Map<ChannelOption<Object>, Object> options = new LinkedHashMap<>();
        JsonArray list = Json.has(json, "socket_options") ? json.getAsJsonArray("socket_options") : new JsonArray();
        for (JsonElement each : list) {
            String name = each.getAsJsonObject().get("name").getAsString();
            if (!SOCKET_OPTIONS.containsKey(name)) {
                throw new Skip("socket option " + name + " has no name in Netty");
            }
            JsonPrimitive value = each.getAsJsonObject().getAsJsonPrimitive("value");
            int number = value.isBoolean() ? (value.getAsBoolean() ? 1 : 0) : value.getAsInt();
            options.put(
                    (ChannelOption<Object>) SOCKET_OPTIONS.get(name),
                    name.endsWith("BUF") ? (Object) number : (Object) (number != 0));
        }
        return options;
    }
}
