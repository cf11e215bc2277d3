package io.github.onewrite.opentelemetry;

import io.github.onewrite.Timing;
import io.opentelemetry.api.common.AttributeKey;
import io.opentelemetry.api.common.Attributes;
import io.opentelemetry.api.common.AttributesBuilder;
import io.opentelemetry.api.metrics.DoubleHistogram;
import io.opentelemetry.api.metrics.LongCounter;
import io.opentelemetry.api.metrics.Meter;
import java.net.MalformedURLException;
import java.net.URL;
import java.util.List;
import java.util.Set;

/** The metrics of spec/events.yaml. */
final class Metrics {
    /** The methods of the semantic conventions; any other is "_OTHER", which bounds the number of series. */
    static final Set<String> METHODS =
            Set.of("CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "QUERY", "TRACE");

    private static final AttributeKey<String> METHOD = AttributeKey.stringKey("http.request.method");
    private static final AttributeKey<String> ADDRESS = AttributeKey.stringKey("server.address");
    private static final AttributeKey<Long> PORT = AttributeKey.longKey("server.port");
    private static final AttributeKey<String> CAUSE = AttributeKey.stringKey("onewrite.cause");
    private static final AttributeKey<Boolean> REUSED = AttributeKey.booleanKey("onewrite.reused");

    private final DoubleHistogram wait;
    private final LongCounter requests;

    Metrics(Meter meter) {
        // The boundary at 35 ms separates round trips from stalls, which a delayed ACK makes 40 ms or longer.
        this.wait = meter.histogramBuilder("onewrite.wait.duration")
                .setUnit("s")
                .setDescription("From the last byte of the request written to the first byte of the response read")
                .setExplicitBucketBoundariesAdvice(
                        List.of(0.001, 0.0025, 0.005, 0.01, 0.02, 0.035, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0))
                .build();
        this.requests = meter.counterBuilder("onewrite.requests")
                .setUnit("{request}")
                .setDescription("Requests that got a connection")
                .build();
    }

    void record(Timing timing) {
        Attributes server = server(timing.url());
        timing.waitNanos().ifPresent(nanos -> {
            AttributesBuilder named = server.toBuilder();
            named.put(METHOD, METHODS.contains(timing.method()) ? timing.method() : "_OTHER");
            timing.cause().ifPresent(cause -> named.put(CAUSE, cause.canonicalName()));
            wait.record(nanos / 1e9, named.build());
        });
        timing.reused()
                .ifPresent(reused ->
                        requests.add(1, server.toBuilder().put(REUSED, reused).build()));
    }

    /** The server that the URL names, without the brackets of an IPv6 address; the port is the scheme's by default. */
    private static Attributes server(String url) {
        try {
            URL parsed = new URL(url);
            String host = parsed.getHost();
            if (host.isEmpty()) {
                return Attributes.empty();
            }
            int port = parsed.getPort() < 0 ? parsed.getDefaultPort() : parsed.getPort();
            boolean bracketed = host.startsWith("[");
            return Attributes.of(ADDRESS, bracketed ? host.substring(1, host.length() - 1) : host, PORT, (long) port);
        } catch (MalformedURLException e) {
            return Attributes.empty(); // A URL that was refused names no server.
        }
    }
}
