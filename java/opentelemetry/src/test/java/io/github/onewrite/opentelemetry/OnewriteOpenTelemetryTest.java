package io.github.onewrite.opentelemetry;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.Gson;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import io.github.onewrite.Cause;
import io.github.onewrite.ErrorKind;
import io.github.onewrite.Kernel;
import io.github.onewrite.Timing;
import io.github.onewrite.internal.Moment;
import io.github.onewrite.internal.Stamps;
import io.github.onewrite.okhttp.OnewriteOkHttp;
import io.github.onewrite.testing.TestServer;
import io.opentelemetry.api.OpenTelemetry;
import io.opentelemetry.api.common.Attributes;
import io.opentelemetry.api.trace.Span;
import io.opentelemetry.context.Scope;
import io.opentelemetry.sdk.OpenTelemetrySdk;
import io.opentelemetry.sdk.metrics.SdkMeterProvider;
import io.opentelemetry.sdk.metrics.data.HistogramPointData;
import io.opentelemetry.sdk.metrics.data.LongPointData;
import io.opentelemetry.sdk.metrics.data.MetricData;
import io.opentelemetry.sdk.testing.exporter.InMemoryMetricReader;
import io.opentelemetry.sdk.testing.exporter.InMemorySpanExporter;
import io.opentelemetry.sdk.trace.SdkTracerProvider;
import io.opentelemetry.sdk.trace.export.SimpleSpanProcessor;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import okhttp3.OkHttpClient;
import okhttp3.Request;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** What OpenTelemetry's SDK is given: the rows of spec/testdata/opentelemetry.json, and the metrics of spec/events.yaml. */
class OnewriteOpenTelemetryTest {
    private static final Path SPEC = Path.of("..", "..", "spec");

    private final InMemorySpanExporter spans = InMemorySpanExporter.create();
    private final InMemoryMetricReader metrics = InMemoryMetricReader.create();
    private final OpenTelemetrySdk sdk = OpenTelemetrySdk.builder()
            .setTracerProvider(SdkTracerProvider.builder()
                    .addSpanProcessor(SimpleSpanProcessor.create(spans))
                    .build())
            .setMeterProvider(
                    SdkMeterProvider.builder().registerMetricReader(metrics).build())
            .build();
    private final OnewriteOpenTelemetry hook = OnewriteOpenTelemetry.create(sdk);

    private static JsonObject table(String name) throws IOException {
        return JsonParser.parseString(Files.readString(SPEC.resolve("testdata/" + name + ".json")))
                .getAsJsonObject();
    }

    /** A row, named by its record. */
    record Row(JsonObject json) {
        @Override
        public String toString() {
            return json.get("record").getAsString();
        }
    }

    static Stream<Row> rows() throws IOException {
        return table("opentelemetry").getAsJsonArray("rows").asList().stream()
                .map(row -> new Row(row.getAsJsonObject()));
    }

    /** A record of spec/testdata/records.json, as an adapter would stamp it. */
    private static Timing timing(String name) throws IOException {
        JsonObject row = table("records").getAsJsonObject("records").getAsJsonObject(name);
        JsonObject from = row.getAsJsonObject("record");
        long started = from.get("started_at_mono_ns").getAsLong();
        Stamps made = new Stamps(started);
        row.getAsJsonObject("at")
                .asMap()
                .forEach((moment, at) ->
                        made.stamp(Moment.valueOf(moment.toUpperCase(Locale.ROOT)), started + at.getAsLong()));
        made.method = from.get("method").getAsString();
        made.target = from.has("url") ? from.get("url").getAsString() : "";
        made.proxy = from.has("proxy") ? from.get("proxy").getAsString() : null;
        if (from.has("conn_id")) {
            made.connection = from.get("conn_id").getAsLong();
            made.requests = from.get("conn_requests").getAsInt();
        }
        if (from.has("kernel")) {
            JsonObject kernel = from.getAsJsonObject("kernel");
            made.kernel = new Kernel(
                    kernel.get("segments_out").getAsLong(),
                    1,
                    1,
                    0,
                    kernel.get("send_hold_ns").getAsLong(),
                    kernel.get("unread_ns").getAsLong());
        }
        if (from.has("cause")) {
            made.cause = Cause.valueOf(from.get("cause").getAsString().toUpperCase(Locale.ROOT));
        }
        long end = started + from.get("total_ns").getAsLong();
        if (from.has("error_kind")) {
            made.failed(ErrorKind.valueOf(from.get("error_kind").getAsString().toUpperCase(Locale.ROOT)), end);
        } else {
            made.end(end);
        }
        return new Timing(made);
    }

    private static JsonElement json(Attributes attributes) {
        Map<String, Object> named = new TreeMap<>();
        attributes.forEach((key, value) -> named.put(key.getKey(), value));
        return new Gson().toJsonTree(named);
    }

    private Map<String, MetricData> metrics() {
        return metrics.collectAllMetrics().stream().collect(Collectors.toMap(MetricData::getName, each -> each));
    }

    @ParameterizedTest
    @MethodSource("rows")
    void theTable(Row row) throws Exception {
        Timing timing = timing(row.toString());
        Span span = sdk.getTracer("test").spanBuilder("around").startSpan();
        try (Scope current = span.makeCurrent()) {
            hook.onTiming(timing);
        }
        span.end();
        hook.onTiming(timing); // No span is current: the metrics alone.
        assertEquals(
                row.json.get("span"), json(spans.getFinishedSpanItems().get(0).getAttributes()));
        Map<String, MetricData> seen = metrics();
        Map<String, JsonElement> expected = row.json.getAsJsonObject("metrics").asMap();
        assertEquals(expected.keySet(), seen.keySet());
        for (Map.Entry<String, JsonElement> each : expected.entrySet()) {
            JsonObject metric = each.getValue().getAsJsonObject();
            double value = 2 * metric.get("value").getAsDouble();
            if (each.getKey().equals("onewrite.requests")) {
                LongPointData point = seen.get(each.getKey())
                        .getLongSumData()
                        .getPoints()
                        .iterator()
                        .next();
                assertEquals(value, point.getValue());
                assertEquals(metric.get("attributes"), json(point.getAttributes()));
            } else {
                HistogramPointData point = seen.get(each.getKey())
                        .getHistogramData()
                        .getPoints()
                        .iterator()
                        .next();
                assertEquals(value, point.getSum(), 1e-9);
                assertEquals(metric.get("attributes"), json(point.getAttributes()));
            }
        }
    }

    /** Names, descriptions, units, methods and bucket edges. */
    @Test
    void theContract() throws Exception {
        hook.onTiming(timing("new_tls_connection"));
        String contract = Files.readString(SPEC.resolve("events.yaml"));
        Matcher methods =
                Pattern.compile("^  methods: \\[(.*?)]", Pattern.MULTILINE).matcher(contract);
        assertTrue(methods.find());
        assertEquals(Set.of(methods.group(1).split(", ")), Metrics.METHODS);
        for (MetricData metric : metrics().values()) {
            String text = contract.substring(contract.indexOf("- name: " + metric.getName()));
            assertTrue(text.contains("description: " + metric.getDescription() + "\n"), metric::toString);
            assertTrue(text.replace("\"", "").contains("unit: " + metric.getUnit() + "\n"), metric::toString);
            assertEquals("onewrite", metric.getInstrumentationScopeInfo().getName());
        }
        Matcher edges = Pattern.compile("edges: \\[(.*?)]").matcher(contract);
        assertTrue(edges.find());
        assertEquals(
                Arrays.stream(edges.group(1).split(", ")).map(Double::valueOf).toList(),
                metrics()
                        .get("onewrite.wait.duration")
                        .getHistogramData()
                        .getPoints()
                        .iterator()
                        .next()
                        .getBoundaries());
    }

    /** With a client: the span around the call, and a method that is not of the conventions. */
    @Test
    void withOkHttp() throws Exception {
        OkHttpClient client = OnewriteOkHttp.create()
                .onTiming(hook)
                .apply(new OkHttpClient.Builder())
                .build();
        Span span = sdk.getTracer("test").spanBuilder("around").startSpan();
        try (TestServer server = TestServer.answering();
                Scope current = span.makeCurrent()) {
            Request request =
                    new Request.Builder().url(server.url()).method("BREW", null).build();
            client.newCall(request).execute().close();
        }
        span.end();
        assertTrue(json(spans.getFinishedSpanItems().get(0).getAttributes())
                .getAsJsonObject()
                .has("onewrite.wait_ns"));
        HistogramPointData wait = metrics()
                .get("onewrite.wait.duration")
                .getHistogramData()
                .getPoints()
                .iterator()
                .next();
        assertEquals(
                "_OTHER",
                json(wait.getAttributes())
                        .getAsJsonObject()
                        .get("http.request.method")
                        .getAsString());
    }

    @Test
    void withoutAnSdkNothingIsRecorded() throws Exception {
        OnewriteOpenTelemetry.create(OpenTelemetry.noop()).onTiming(timing("new_tls_connection"));
    }
}
