# frozen_string_literal: true

require_relative "support/helper"
require "io/wait"
require "json"
require "yaml"

# OpenTelemetry's gems: clones of their repositories, or installed.
module OpenTelemetryGems
  # @return [Array(Array<String>, String)] folders to load from; nil and the reason where there are none
  def self.find_gems
    out, err, status = Open3.capture3({ "RUBYOPT" => nil }, RbConfig.ruby, File.expand_path("../tools/opentelemetry.rb", __dir__))
    return [out.split("\n"), nil] if status.success?

    wanted = %w[opentelemetry-logs-sdk opentelemetry-metrics-sdk opentelemetry-instrumentation-net_http]
    return [[], nil] if wanted.all? { |name| Gem::Specification.find_all_by_name(name).any? }

    [nil, "#{wanted.join(", ")} are not installed, and #{err.strip}"]
  rescue SystemCallError => e
    [nil, e.message]
  end
  FOLDERS, WHY_NOT = find_gems
end

# onewrite/opentelemetry where OpenTelemetry is not installed.
class OpenTelemetryMissingTest < OnewriteTest
  def test_without_the_gem_there_is_a_clear_error
    out = ruby(<<~'RUBY')
      require "onewrite/opentelemetry"
      p Onewrite::OpenTelemetry.remove
      begin
        Onewrite::OpenTelemetry.install
      rescue LoadError => e
        puts e.message
      end
      p Onewrite.status[:hooks], Onewrite.enabled?
    RUBY
    skip "opentelemetry-api is installed" unless out.include?("needs")
    said = %r{\Afalse\nonewrite/opentelemetry needs the gem opentelemetry-api \(.*\): add .*to the Gemfile\n0\nfalse\n\z}
    assert_match(said, out)
  end
end

# onewrite/opentelemetry over the real SDK and the real instrumentation of Net::HTTP, loaded before it and after it.
class OpenTelemetryTest < OnewriteTest
  LIMIT = 120

  def setup
    super
    skip OpenTelemetryGems::WHY_NOT unless OpenTelemetryGems::FOLDERS
  end

  LIB = File.join(ROOT, "lib")
  OFF = { "OTEL_TRACES_EXPORTER" => "none", "OTEL_METRICS_EXPORTER" => "none", "OTEL_LOGS_EXPORTER" => "none" }.freeze
  PORT = /(?<=127\.0\.0\.1:|"net.peer.port":|"server.port":)\d{4,5}/.freeze

  def answering(**options)
    tap_server(**options) do |seen, socket|
      case seen.line
      when /500/ then "HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n"
      when /slow/ then socket.to_io.wait_readable(30) && :close # when the client gives up
      when /bytes/ then "HTTP/1.1 200 \xFF\r\nContent-Length: 0\r\n\r\n".b
      when /long/
        socket.write("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nabc")
        sleep 0.03
        "def"
      else "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
      end
    end
  end

  # Runs *script* beside support/opentelemetry.rb.
  # @return [Hash] what it reported
  def run_with(script, env = {})
    options = ["-W0", "-r", File.join(__dir__, "support/opentelemetry.rb")]
    JSON.parse(ruby(script, env: OFF.merge(env), options: options, load_path: [LIB, *OpenTelemetryGems::FOLDERS]).lines.last)
  end

  RUNS = {} # rubocop:disable Style/MutableConstant -- what {exchange} has run, for the tests that look at the same

  # Runs *script* and then requests of every outcome; once for the same script, environment and options.
  # @return [Array(Hash, Tap)] what it reported, and the server
  def exchange(script, env = {}, **options)
    RUNS[[script, env, options]] ||= begin
      tap = answering(**options)
      env = env.merge("PORT" => tap.port.to_s, "TLS" => options[:tls] ? "1" : nil)
      [run_with("#{script}\nreport(results: exchanges)", env), tap]
    end
  end

  # Spans as the instrumentation alone makes them: without our attributes, ids and ports.
  def spans_of(report)
    report["spans"].map do |span|
      attributes = span["attributes"].to_h.reject { |name, _| name.start_with?("onewrite.") }
      parent = report["spans"].find { |one| one["id"] == span["parent"] }
      JSON.parse(JSON.generate(span.merge("attributes" => attributes).slice("name", "kind", "attributes", "status", "events"))
                     .gsub(PORT, "1234")).merge("parent" => parent && parent["name"])
    end
  end

  def client_spans(report)
    report["spans"].select { |span| span["kind"] == "client" }
  end

  def points(report, metric)
    report["metrics"].fetch(metric).flat_map { |one| one["points"] }
  end

  def assert_like_stock(stock, found, tap)
    assert_equal stock["results"].map { |one| one.to_s.gsub(PORT, "") }, found["results"].map { |one| one.to_s.gsub(PORT, "") }
    assert_equal spans_of(stock), spans_of(found)
    ids = tap.seen.map { |seen| seen.head[/^traceparent: 00-(.*)-01\r$/i, 1] }
    assert_equal ids.compact, ids
    made = client_spans(found).map { |span| "#{span["trace"]}-#{span["id"]}" }
    assert_empty ids - made
    assert_equal ids.uniq, ids
    assert_equal 0, found["hook_errors"]
  end

  ORDERS = {
    "before the instrumentation" => "ours; configure",
    "after the instrumentation" => "configure; ours",
    "after the instrumentation, the adapter before it" => "require 'onewrite'; configure; ours"
  }.freeze
  OFF_ORDERS = {
    "before the instrumentation, hooks off" => "require 'onewrite'; configure",
    "after the instrumentation, hooks off" => "configure; require 'onewrite'"
  }.freeze
  CALLS = 31
  # From the contract of all languages.
  METRICS, METHODS = YAML.load_file(File.expand_path("../spec/events.yaml", ROOT)).fetch("opentelemetry")
                         .values_at("metrics", "methods")

  ORDERS.merge(OFF_ORDERS).each do |order, script|
    define_method("test_the program and its spans are as without the gem: #{order}") do
      stock, = exchange("configure")
      found, tap = exchange(script)
      assert_like_stock(stock, found, tap)
      assert_equal 1, mode(tap.seen.select { |seen| seen.line.include?("/items?") }.map(&:segments))
    end
  end

  %w[http http/dup].each do |names|
    define_method("test_the program and its spans are as without the gem: names of #{names}, over TLS") do
      stock, = exchange("configure", { "OTEL_SEMCONV_STABILITY_OPT_IN" => names }, tls: true)
      ORDERS.first(2).each do |_, script|
        found, tap = exchange(script, { "OTEL_SEMCONV_STABILITY_OPT_IN" => names }, tls: true)
        assert_like_stock(stock, found, tap)
        assert_equal 1, mode(tap.seen.select { |seen| seen.line.include?("/items?") }.map { |seen| seen.pieces.size })
      end
    end
  end

  ORDERS.each do |order, script|
    define_method("test_spans, logs and metrics: #{order}") do
      found, = exchange(script)
      phases_of_spans(found)
      logs_beside_spans(found)
      metrics_agree(found)
    end
  end

  def phases_of_spans(found)
    spans = client_spans(found)
    assert_operator spans.size, :>=, CALLS - 1
    spans.each do |span|
      assert_operator span["attributes"]["onewrite.total_ns"], :>, 0
      assert_equal 1, span["attributes"]["onewrite.attempts"]
      assert_empty span["events"] - ["exception"]
    end
    ok = spans.first(22).map { |span| span["attributes"] }
    assert_equal [false, *[true] * 21], ok.map { |one| one["onewrite.reused"] }
    ok.each do |one|
      %w[send wait receive].each { |phase| assert_operator one["onewrite.#{phase}_ns"], :>, 0 }
    end
  end

  def logs_beside_spans(found)
    logs = found["logs"]
    assert_equal [CALLS, ["onewrite.request"]], [logs.size, logs.map { |one| one["name"] }.uniq]
    assert_equal [[[9, "INFO"], ["onewrite", Onewrite::VERSION]]], logs.map { |one| one.values_at("severity", "scope") }.uniq
    spans = client_spans(found).map { |span| [span["id"], span] }.to_h
    within, without = logs.partition { |one| one["id"] }
    assert_equal ["http://127.0.0.1:1/"], without.map { |one| one["body"]["url"] } # `start` failed: there is no request yet
    within.each do |one|
      span = spans.fetch(one["id"])
      assert_equal span["trace"], one["trace"]
      ours = span["attributes"].select { |name, _| name.start_with?("onewrite.") }
      assert_equal ours, one["attributes"].select { |name, _| name.start_with?("onewrite.") }
      assert_equal one["attributes"].values_at("onewrite.wait_ns", "url.full"), one["body"].values_at("wait_ns", "url")
      assert_equal one["body"]["started_at_unix_ns"] + one["body"]["total_ns"], one["at"]
      assert_equal one["body"].slice("wait_ns"), one["body"]["attempts"].last.slice("wait_ns")
    end
    assert_equal within.size, within.map { |one| one["id"] }.uniq.size
  end

  def metrics_agree(found)
    waits = points(found, "onewrite.wait.duration")
    # One call was refused its connection.
    assert_equal CALLS - 1, points(found, "onewrite.requests").sum { |one| one["value"] }
    assert_equal found["logs"].count { |one| one["body"]["wait_ns"] }, waits.sum { |one| one["count"] }
    assert_equal %w[GET POST], waits.map { |one| one["attributes"]["http.request.method"] }.uniq.sort
    assert_equal METRICS.map { |metric| metric["name"] }.sort, found["metrics"].keys.sort
    METRICS.each do |metric|
      assert_equal [metric["unit"]], found["metrics"][metric["name"]].map { |one| one["unit"] }
      points(found, metric["name"]).each do |one|
        assert_empty one["attributes"].keys - metric["attributes"]
        metric["edges"] ? assert_equal(metric["edges"], one["explicit_bounds"]) : refute(one["explicit_bounds"])
      end
    end
    assert_equal [["onewrite", Onewrite::VERSION]], found["metrics"].values.flatten.map { |one| one["scope"] }.uniq
  end

  # A method of one's own makes no time series.
  def test_metrics_name_the_methods_of_the_contract
    tap = tap_server { "HTTP/1.1 204 No Content\r\n\r\n" }
    found = run_with(<<~'RUBY', "PORT" => tap.port.to_s, "METHODS" => [*METHODS, "BREW", "WHEN", "get"].join(" "))
      configure
      ours
      http = session.start
      ENV["METHODS"].split.each { |name| http.request(Net::HTTPGenericRequest.new(name, false, false, "/")) }
      report
    RUBY
    counts = points(found, "onewrite.wait.duration").map { |one| [one["attributes"]["http.request.method"], one["count"]] }
    assert_equal [*METHODS.map { |method| [method, 1] }, ["_OTHER", 3]].sort, counts.sort
  end

  def test_the_example_of_the_readme
    code = File.read(File.join(ROOT, "README.md"))[/^### OpenTelemetry\n.*?^```ruby\n(.*?)^```/m, 1]
    found = run_with("configure\n#{code}\nsession.get('/')\nreport", "PORT" => tap_server.port.to_s)
    assert_operator client_spans(found)[0]["attributes"]["onewrite.wait_ns"], :>, 0
    assert_equal [1, 2], [found["logs"].size, found["metrics"].size]
    readme = File.read(File.join(ROOT, "README.md"))
    found["metrics"].each_key { |name| assert_includes readme, name }
  end

  # As the SDK's own exporters, these send over Net::HTTP.
  def test_requests_of_exporters_are_left_out
    tap = tap_server
    found = run_with(<<~'RUBY', "PORT" => tap.port.to_s)
      configure
      ours
      sends = Class.new do
        def export(*, **)
          OpenTelemetry::Common::Utilities.untraced { session.post("/export", "x", TEXT) }
          0
        end

        def force_flush(**)
          0
        end

        def shutdown(**)
          0
        end
      end
      OpenTelemetry.tracer_provider.add_span_processor(OpenTelemetry::SDK::Trace::Export::SimpleSpanProcessor.new(sends.new))
      OpenTelemetry.logger_provider.add_log_record_processor(
        OpenTelemetry::SDK::Logs::Export::SimpleLogRecordProcessor.new(sends.new)
      )
      3.times { session.get("/") }
      report
    RUBY
    assert_equal [3, 6], [found["logs"].size, found["spans"].size]
    assert_equal 3 + 3 + 6, tap.seen.size
    assert_equal 3, points(found, "onewrite.requests").sum { |one| one["value"] }
  end

  # Calls from before are not counted.
  def test_an_sdk_that_is_configured_late
    found = run_with(<<~'RUBY', "PORT" => tap_server.port.to_s)
      ours
      http = session.start
      http.get("/")
      configure
      http.get("/")
      report
    RUBY
    assert_equal 1, found["logs"].size
    assert_equal 1, points(found, "onewrite.requests").sum { |one| one["value"] }
  end

  def test_traces_alone
    found, = exchange("configure; ours", { "ONLY_TRACES" => "1" })
    phases_of_spans(found)
    assert_equal [[], {}, 0], found.values_at("logs", "metrics", "hook_errors")
  end

  def test_a_span_that_is_not_recorded_gets_no_attributes_and_the_log_has_its_context
    found = run_with(<<~'RUBY', "PORT" => tap_server.port.to_s)
      configure
      ours
      OpenTelemetry.tracer_provider.sampler = OpenTelemetry::SDK::Trace::Samplers::ALWAYS_OFF
      session.get("/")
      report
    RUBY
    assert_equal [[], 1, 0], [found["spans"], found["logs"].size, found["hook_errors"]]
    assert_match(/\A\h{32}\z/, found["logs"][0]["trace"])
  end

  # Without instrumentation the current span gets the phases of the last call in it.
  def test_a_span_of_the_program
    found = run_with(<<~'RUBY', "PORT" => tap_server.port.to_s)
      configure(instrument: false)
      ours
      OpenTelemetry.tracer_provider.tracer("mine").in_span("mine") { 2.times { session.post("/", "hello", TEXT) } }
      report
    RUBY
    mine = found["spans"].find { |span| span["name"] == "mine" }
    last = found["logs"][1]["attributes"]["onewrite.wait_ns"]
    assert_equal [2, last], mine["attributes"].values_at("onewrite.conn_id", "onewrite.wait_ns")
    assert_equal [mine["id"]] * 2, found["logs"].map { |one| one["id"] }
  end

  def test_options_and_a_view_that_the_program_sets
    found = run_with(<<~'RUBY', "PORT" => tap_server.port.to_s)
      configure
      buckets = OpenTelemetry::SDK::Metrics::Aggregation::ExplicitBucketHistogram.new(boundaries: [1, 2])
      OpenTelemetry.meter_provider.add_view("onewrite.wait.duration", aggregation: buckets)
      ours(logs: false)
      session.get("/")
      ours(logs: false) # instead of the one before
      session.get("/")
      report(removed: [Onewrite::OpenTelemetry.remove, Onewrite::OpenTelemetry.remove, Onewrite.status[:hooks]])
    RUBY
    assert_empty found["logs"]
    assert_equal [[[1, 2], 2]], points(found, "onewrite.wait.duration").map { |one| one.values_at("explicit_bounds", "count") }
    assert_equal [true, false, 0], found["removed"]
  end
end
