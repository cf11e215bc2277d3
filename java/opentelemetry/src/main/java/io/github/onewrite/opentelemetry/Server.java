package io.github.onewrite.opentelemetry;

import io.github.onewrite.spi.ServerAddress;
import io.opentelemetry.api.common.AttributeKey;
import io.opentelemetry.api.common.Attributes;
import io.opentelemetry.api.common.AttributesBuilder;

/** The server that a call's URL names, as attributes of metrics. */
final class Server {
    private static final AttributeKey<String> ADDRESS = AttributeKey.stringKey("server.address");
    private static final AttributeKey<Long> PORT = AttributeKey.longKey("server.port");

    private Server() {}

    /** Empty when the URL names none. */
    static Attributes of(String url) {
        ServerAddress found = ServerAddress.of(url);
        return found == null ? Attributes.empty() : Attributes.of(ADDRESS, found.host(), PORT, (long) found.port());
    }

    static <T> Attributes with(Attributes server, AttributeKey<T> key, T value) {
        AttributesBuilder all = server.toBuilder();
        all.put(key, value);
        return all.build();
    }
}
