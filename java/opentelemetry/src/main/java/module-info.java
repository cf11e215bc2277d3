/** The timing record for OpenTelemetry: phases on the current span, and metrics. */
module io.github.onewrite.opentelemetry {
    requires transitive io.github.onewrite.core;
    requires transitive io.opentelemetry.api;
    requires io.opentelemetry.context;
    requires static org.jspecify;

    exports io.github.onewrite.opentelemetry;
}
