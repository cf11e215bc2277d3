# frozen_string_literal: true

require_relative "support/helper"
require "json"
require "yaml"

# onewrite/opentelemetry where OpenTelemetry is not installed, over a stand-in for its API, and over its own gems where they are
# there.
class OpenTelemetryTest < OnewriteTest
  # Of its gems, as tools/opentelemetry.rb finds them.
  FOLDERS, WHY_NOT = begin
    out, err, status = Open3.capture3({ "RUBYOPT" => nil }, RbConfig.ruby, File.join(ROOT, "tools/opentelemetry.rb"))
    status.success? ? [out.split("\n"), nil] : [nil, err.strip]
  end

  METRICS, METHODS = YAML.load_file(File.expand_path("../spec/events.yaml", ROOT)).fetch("opentelemetry")
                         .values_at("metrics", "methods")

  def test_without_the_gem_there_is_a_clear_error
    out = ruby(<<~'RUBY')
      require "onewrite/opentelemetry"
      p Onewrite::OpenTelemetry.uninstall
      begin
        Onewrite::OpenTelemetry.install
      rescue LoadError => e
        puts e.message
      end
      p Onewrite.status[:hooks]
    RUBY
    skip "opentelemetry-api is installed" unless out.include?("needs")
    assert_match(%r{\Anil\nonewrite/opentelemetry needs the gem opentelemetry-api \(.*\): add .*to the Gemfile\n0\n\z}, out)
  end

  # @param script [String] with `current(span)`, `get(path)` and Span
  # @return [Hash] what it put into `seen`
  def with_stand_in(script)
    tap = tap_server { |seen| seen.line.include?("/no") ? :close : Tap::OK }
    options = ["-W0", "-r", File.join(__dir__, "support/opentelemetry.rb")]
    script = "seen = {}\n#{script}\nputs JSON.generate(seen)"
    JSON.parse(ruby(script, env: { "PORT" => tap.port.to_s }, options: options).lines.last)
  end

  def test_a_client_span_gets_the_phases_of_its_request
    seen = with_stand_in(<<~'RUBY')
      require "onewrite/opentelemetry"
      2.times { Onewrite::OpenTelemetry.install }
      current(span = Span.new(:client)) { get("/") }
      seen["span"] = span.attributes
      Onewrite::OpenTelemetry.uninstall
      current(off = Span.new(:client)) { get("/") }
      seen["off"] = off.attributes
      seen["metrics"] = METERS
    RUBY
    names = seen["span"].keys.map { |name| name.delete_prefix("onewrite.") }
    assert_equal %w[conn_id conn_requests connect_ns receive_ns reused send_ns total_ns wait_ns],
                 names.sort - %w[segments_out send_hold_ns unread_ns cause]
    assert_empty seen["off"]
    assert_equal [1, 1], METRICS.map { |metric| seen["metrics"].fetch(metric["name"]).size }
    METRICS.each { |metric| assert_empty seen["metrics"][metric["name"]][0][1].keys - metric["attributes"] }
  end

  # A server's span is about all its requests, and one of the program may be.
  def test_requests_under_one_span_do_not_overwrite_one_another
    seen = with_stand_in(<<~'RUBY')
      require "onewrite/opentelemetry"
      Onewrite::OpenTelemetry.install
      current(server = Span.new(:server)) { 2.times { get("/") } }
      seen["server"] = server.attributes
      current(client = Span.new(:client)) { get("/") && (seen["first"] = client.attributes.dup) && get("/") }
      seen["client"] = client.attributes
      current(Span.new(:client, recording: false)) { get("/") }
      seen["requests"] = METERS["onewrite.requests"].size
      seen["errors"] = Onewrite.status[:hook_errors]
    RUBY
    assert_equal [{}, seen["first"], 5, 0], seen.values_at("server", "client", "requests", "errors")
  end

  def test_metrics_name_the_methods_of_the_contract_and_requests_that_got_a_connection
    seen = with_stand_in(<<~RUBY)
      require "onewrite/opentelemetry"
      Onewrite::OpenTelemetry.install
      #{[*METHODS, "BREW"].inspect}.each { |name| request(Net::HTTPGenericRequest.new(name, false, true, "/")) }
      request(Net::HTTP::Post.new("/no")) rescue nil
      Net::HTTP.get(URI("http://127.0.0.1:1/")) rescue nil
      untraced { get("/") }
      seen["waits"] = METERS["onewrite.wait.duration"].map { |_, attributes| attributes["http.request.method"] }
      seen["requests"] = METERS["onewrite.requests"].map(&:last)
    RUBY
    assert_equal [*METHODS, "_OTHER", "POST"], seen["waits"]
    assert_equal METHODS.size + 2, seen["requests"].size
    assert_equal [%w[onewrite.reused server.address server.port]], seen["requests"].map { |one| one.keys.sort }.uniq
  end

  # The real SDK and the real instrumentation of Net::HTTP, loaded before onewrite and after it.
  [%w[ours theirs], %w[theirs ours]].each do |order|
    define_method("test_the SDK: #{order.join(", then ")}") do
      skip WHY_NOT unless FOLDERS
      tap = tap_server
      env = %w[TRACES METRICS LOGS].to_h { |name| ["OTEL_#{name}_EXPORTER", "none"] }.merge("PORT" => tap.port.to_s)
      out = ruby(<<~RUBY, env: env, options: ["-W0"], load_path: [File.join(ROOT, "lib"), *FOLDERS])
        %w[json logger net/http opentelemetry-sdk opentelemetry-metrics-sdk opentelemetry-instrumentation-net_http].each { |name| require name }
        spans = OpenTelemetry::SDK::Trace::Export::InMemorySpanExporter.new
        reader = OpenTelemetry::SDK::Metrics::Export::InMemoryMetricPullExporter.new
        theirs = lambda do
          OpenTelemetry::SDK.configure do |sdk|
            sdk.logger = Logger.new(File::NULL)
            sdk.add_span_processor(OpenTelemetry::SDK::Trace::Export::SimpleSpanProcessor.new(spans))
            sdk.use "OpenTelemetry::Instrumentation::Net::HTTP"
          end
          OpenTelemetry.meter_provider.add_metric_reader(reader)
        end
        ours = -> { require("onewrite/opentelemetry") && Onewrite::OpenTelemetry.install }
        #{order.join(".call; ")}.call
        http = Net::HTTP.start("127.0.0.1", ENV["PORT"].to_i, nil)
        3.times { http.post("/", "hello", "Content-Type" => "text/plain") }
        reader.pull
        puts JSON.generate(spans: spans.finished_spans.select { |one| one.kind == :client }.map(&:attributes),
                           edges: reader.metric_snapshots.map { |one| [one.name, one.data_points[0].to_h[:explicit_bounds]] }.to_h)
      RUBY
      seen = JSON.parse(out.lines.last)
      assert_equal [false, true, true], seen["spans"].map { |one| one["onewrite.reused"] }
      assert_equal METRICS.to_h { |metric| [metric["name"], metric["edges"]] }, seen["edges"]
      assert_equal [1, 1], tap.seen.drop(1).map(&:segments)
    end
  end
end
