/** The timing record for OpenTelemetry: attributes of the client's span, a log event, metrics. */
module io.github.onewrite.opentelemetry {
    requires transitive io.github.onewrite.core;
    requires transitive io.opentelemetry.api;
    requires io.opentelemetry.context;
    requires static org.jspecify;

    exports io.github.onewrite.opentelemetry;
}
