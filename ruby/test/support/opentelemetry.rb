# frozen_string_literal: true

# A program with OpenTelemetry: the SDK with exporters that keep everything in memory, and the instrumentation of Net::HTTP.
# Loaded in a process of its own.

require "json"
require "logger"
require "net/http"
require "stringio"
require "opentelemetry-sdk"
require "opentelemetry-instrumentation-net_http"

SPANS = OpenTelemetry::SDK::Trace::Export::InMemorySpanExporter.new
LOGS, READER =
  unless ENV["ONLY_TRACES"]
    require "opentelemetry-logs-sdk"
    require "opentelemetry-metrics-sdk"
    [OpenTelemetry::SDK::Logs::Export::InMemoryLogRecordExporter.new,
     OpenTelemetry::SDK::Metrics::Export::InMemoryMetricPullExporter.new]
  end

# @param instrument [Boolean] whether Net::HTTP is instrumented
def configure(instrument: true)
  OpenTelemetry.logger = Logger.new(File::NULL)
  OpenTelemetry::SDK.configure do |sdk|
    sdk.logger = OpenTelemetry.logger
    sdk.add_span_processor(OpenTelemetry::SDK::Trace::Export::SimpleSpanProcessor.new(SPANS))
    sdk.use "OpenTelemetry::Instrumentation::Net::HTTP" if instrument
  end
  return unless LOGS

  OpenTelemetry.logger_provider.add_log_record_processor(OpenTelemetry::SDK::Logs::Export::SimpleLogRecordProcessor.new(LOGS))
  OpenTelemetry.meter_provider.add_metric_reader(READER)
end

def ours(**options)
  require "onewrite/opentelemetry"
  Onewrite::OpenTelemetry.install(**options)
end

def session(**options)
  http = Net::HTTP.new("127.0.0.1", ENV["PORT"].to_i, nil)
  http.use_ssl = !ENV["TLS"].nil?
  http.verify_mode = OpenSSL::SSL::VERIFY_NONE
  http.max_retries = 0
  options.each { |name, value| http.public_send("#{name}=", value) }
  http
end

# Adds the result of the block to *results*.
def note(results)
  result = yield
  results << (result.respond_to?(:code) ? [result.code, result.body] : result)
rescue StandardError => e
  results << "#{e.class}: #{e.message}"
end

TEXT = { "Content-Type" => "text/plain" }.freeze

# Requests of every outcome.
# @return [Array] their results, as the program sees them
def exchanges
  results = []
  http = session.start
  22.times { |index| note(results) { http.post("/items?i=#{index}", "hello", TEXT) } }
  note(results) { http.get("/500") }
  stream = Net::HTTP::Post.new("/stream", TEXT.merge("Transfer-Encoding" => "chunked"))
  stream.body_stream = StringIO.new("hello " * 100)
  note(results) { http.request(stream) }
  pieces = +""
  note(results) { http.request_get("/long") { |response| response.read_body { |piece| pieces << piece } } && pieces.size }
  http.read_timeout = 0.3
  note(results) { http.get("/slow") }
  http.read_timeout = 60
  note(results) { http.get("/again") }
  note(results) { http.request_get("/items") { raise "in the block" } }
  http.finish
  note(results) { session.get("/one?q=1") }
  note(results) { Net::HTTP.new("127.0.0.1", 1, nil).get("/refused") }
  note(results) { session.request(Net::HTTP::Get.new("/bytes")) }
  results
end

def span(one)
  { name: one.name, kind: one.kind, attributes: one.attributes, status: [one.status.code, one.status.description],
    events: one.events.to_a.map(&:name), trace: one.hex_trace_id, id: one.hex_span_id,
    parent: one.hex_parent_span_id }
end

def log(one)
  { name: one.respond_to?(:event_name) ? one.event_name : one.attributes["event.name"],
    attributes: one.attributes, body: one.body, severity: [one.severity_number, one.severity_text],
    at: one.timestamp, scope: one.instrumentation_scope.to_a.first(2),
    trace: one.trace_id && one.trace_id.unpack1("H*"), id: one.span_id && one.span_id.unpack1("H*") }
end

def point(one)
  one.to_h.slice(:attributes, :value, :count, :sum, :bucket_counts, :explicit_bounds)
end

def metric(one)
  { unit: one.unit, scope: one.instrumentation_scope.to_a.first(2), points: one.data_points.map { |data| point(data) } }
end

# Prints all that was exported, as JSON.
def report(**more)
  metrics = {}
  if READER
    READER.pull
    metrics = READER.metric_snapshots.group_by(&:name).transform_values { |all| all.map { |one| metric(one) } }
  end
  errors = defined?(Onewrite) ? Onewrite.status[:hook_errors] : 0
  puts JSON.generate({ spans: SPANS.finished_spans.map { |one| span(one) }, metrics: metrics, hook_errors: errors,
                       logs: LOGS ? LOGS.emitted_log_records.map { |one| log(one) } : [] }.merge(more))
end
