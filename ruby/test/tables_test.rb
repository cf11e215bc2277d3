# frozen_string_literal: true

require_relative "support/helper"
require "json"
require "onewrite/opentelemetry"
require "openssl"
require "zlib"

# The tables that every language runs (spec/testdata): URLs, errors, the kernel's counters, records.
class TablesTest < OnewriteTest
  TESTDATA = File.expand_path("../spec/testdata", ROOT)
  # What this adapter can measure.
  CAPABILITIES = %w[attempts tcp_info rwnd_limited].freeze

  def self.table(name)
    JSON.parse(File.read(File.join(TESTDATA, "#{name}.json")))
  end

  # Yields each row of the table that applies to this adapter.
  def self.rows(table)
    table(table).fetch("rows").each_with_index do |row, index|
      yield row, "test_#{table}_#{index}_#{row["about"] || row["record"]}" if (row.fetch("needs", []) - CAPABILITIES).empty?
    end
  end

  rows("redaction") do |row, test|
    define_method(test) do
      assert_equal row["redacted"], Onewrite.const_get(:Redact).url(row["url"])
      assert_equal row["redacted"], Onewrite.const_get(:Redact).url(row["url"].dup.force_encoding("ASCII-8BIT"))
    end
  end

  rows("error_kinds") do |row, test|
    next unless row["ruby"]

    define_method(test) do
      row["ruby"].each do |one|
        type = Object.const_get(one["class"])
        error = type < SystemCallError ? type.new : type.allocate # some want a response
        error = error.exception(one["message"]) if one["message"]
        assert_equal row["kind"].to_sym, Onewrite.const_get(:ErrorKind).kind(error, one["phase"]&.to_sym), one.to_s
      end
    end
  end

  # struct tcp_info of Linux, as far as it is read.
  def tcp_info(counters)
    info = "\0".b * 192
    info[44, 4] = [counters.fetch("last_data_sent_ms", 0)].pack("L")
    info[68, 4] = [counters.fetch("rtt_us", 0)].pack("L")
    info[100, 4] = [counters.fetch("retransmits")].pack("L")
    info[148, 4] = [counters.fetch("min_rtt_us", 0)].pack("L")
    info[156, 4] = [counters.fetch("segments_out")].pack("L")
    info[176, 8] = [counters.fetch("rwnd_limited_us", 0)].pack("Q")
    info
  end

  # A record with these variables.
  def with(values, type = Onewrite::Timing)
    type.new("http://host", 0, nil, nil).tap do |one|
      one.path = "/"
      values.each { |name, value| one.instance_variable_set(:"@#{name}", value) }
      one.freeze
    end
  end

  rows("causes") do |row, test|
    define_method(test) do
      one = with(request_end: 1, response_start: 1 + row["wait_ns"], bytes_sent: 9, writes: row["writes"], exact: true,
                 nodelay: row["nodelay"], before: tcp_info(row["before"]), after: tcp_info(row["after"]))
      assert_equal row["wait_ns"], one.wait_ns
      assert_equal row.values_at("segments_out", "retransmits", "send_hold_ns"),
                   [one.kernel.segments_out, one.kernel.retransmits, one.kernel.send_hold_ns]
      row["cause"] ? assert_equal(row["cause"].to_sym, one.cause) : assert_nil(one.cause)
    end
  end

  RECORDS = table("records").fetch("records")

  def evidence(attempt)
    kernel = attempt["kernel"] or return {}
    since = attempt["wait_ns"] - kernel["send_hold_ns"]
    closed = attempt["cause"] == "peer_window" ? kernel["send_hold_ns"] / 1000 : 0
    after = kernel.merge("last_data_sent_ms" => since / 1_000_000, "rwnd_limited_us" => closed)
    { before: tcp_info("segments_out" => 0, "retransmits" => 0), after: tcp_info(after), exact: true,
      nodelay: attempt["cause"] == "nagle_delayed_ack" ? false : nil }
  end

  def moments(record, attempt)
    at = attempt["at"].map { |name, time| [name.sub("attempt_start", "attempt_started").sub("attempt_end", "ended"), time] }
                      .map { |name, time| [name.to_sym, time + record["started_at_mono_ns"]] }.to_h
    at.delete(:headers_end)
    at.merge(evidence(attempt)).merge(
      index: attempt["index"], outcome: attempt["outcome"].to_sym, status: attempt["status"],
      conn_id: attempt["conn_id"], conn_requests: attempt["conn_requests"], bytes_sent: attempt["bytes_sent"],
      proxy: attempt["proxy"],
      idle_since: attempt["idle_ns"] && (at[:attempt_started] - attempt["idle_ns"]), writes: attempt["writes"],
      bytes_received: attempt["bytes_received"]
    )
  end

  # A record with the times of the table.
  def record(name)
    record = RECORDS.fetch(name).fetch("record")
    *earlier, last = record["attempts"].map { |attempt| moments(record, attempt) }
    # Here a call ends with its last attempt.
    type = Class.new(Onewrite::Timing) { define_method(:total_ns) { record["total_ns"] } }
    with(last.merge(
           outcome: record["outcome"].to_sym, earlier: (earlier.map { |one| with(one) } unless earlier.empty?),
           method: record["method"], url: record["url"], started_at_mono_ns: record["started_at_mono_ns"],
           anchor: record["started_at_unix_ns"] - record["started_at_mono_ns"],
           error_kind: record["error_kind"]&.to_sym, error_phase: record["error_phase"]&.to_sym
         ), type)
  end

  def self.for_us(table)
    rows(table) { |row, test| yield row, test if (RECORDS.fetch(row["record"]).fetch("needs", []) - CAPABILITIES).empty? }
  end

  for_us("text_form") do |row, test|
    define_method(test) do
      assert_equal row["text"], record(row["record"]).to_s
      assert_includes record(row["record"]).inspect, row["text"]
    end
  end

  def alike(expected, found, where)
    assert_equal expected.keys.sort, found.keys.sort, where
    expected.each do |name, value|
      case value
      when Hash then alike(value, found[name], "#{where} #{name}")
      when Array then value.zip(found[name]) { |one, two| alike(one, two, "#{where} #{name}") } # of Hashes
      when Numeric then assert_in_delta value, found[name], 0.000001, "#{where} #{name}"
      else assert_equal value, found[name], "#{where} #{name}"
      end
    end
  end

  for_us("mappers") do |row, test|
    define_method(test) do
      timing = record(row["record"])
      alike row["otel_attributes"], Onewrite::OpenTelemetry::Attributes.of_call(timing), "of_call"
      alike row["otel_phases"], Onewrite::OpenTelemetry::Attributes.of_phases(timing), "of_phases"
    end
  end

  def test_the_tables_are_not_empty
    assert_operator self.class.public_instance_methods(false).size, :>, 80
  end
end
