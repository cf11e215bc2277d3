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
  CAPABILITIES = %w[resend tcp_info rwnd_limited].freeze

  def self.table(name)
    JSON.parse(File.read(File.join(TESTDATA, "#{name}.json")))
  end

  # Yields each row of the table that applies to this adapter.
  def self.rows(table)
    table(table).fetch("rows").each_with_index do |row, index|
      yield row, "test_#{table}_#{index}_#{row["about"] || row["record"]}" if (row.fetch("needs", []) - CAPABILITIES).empty?
    end
  end

  # A request that a program makes of a URL, and one whose target is the whole URL.
  rows("urls") do |row, test|
    define_method(test) do
      url = URI(row["url"])
      request = Net::HTTP::Get.new(url)
      whole = Net::HTTP::Get.new(row["url"])
      origin = row["record"][%r{\A\w+://[^/]+}]
      [request, whole].each do |one|
        record = Onewrite::Record.new(origin, [])
        record.request = one
        record.finish
        assert_equal row["record"], record.url
        refute_match(/pass|user/, Marshal.dump(record)) if url.userinfo
      end
    end
  end

  def test_a_target_that_no_parser_takes_keeps_no_secret
    ["http://user:pa@ss@host/x", "http+unix://user:pass@host/x", "HTTP://user:pass@host/x", "user:pass@host:80"].each do |target|
      record = Onewrite::Record.new("http://proxy", [])
      record.request = Net::HTTPGenericRequest.new("GET", false, true, target)
      record.finish
      refute_match(/user|pass|ss@/, record.url + Marshal.dump(record), target)
    end
  end

  rows("error_kinds") do |row, test|
    next unless row["ruby"]

    define_method(test) do
      row["ruby"].each do |one|
        type = Object.const_get(one["class"])
        error = type < SystemCallError ? type.new : type.allocate # some want a response
        error = error.exception(one["message"]) if one["message"]
        assert_equal row["kind"].to_sym, Onewrite.const_get(:ErrorKind).of(error, one["phase"]&.to_sym), one.to_s
      end
    end
  end

  # struct tcp_info of Linux, as far as it is read.
  def tcp_info(counters)
    info = "\0".b * 192
    info[44, 4] = [counters.fetch("last_data_sent_ms", 0)].pack("L")
    info[52, 4] = [counters.fetch("last_data_recv_ms", 0)].pack("L")
    info[68, 4] = [counters.fetch("rtt_us", 0)].pack("L")
    info[100, 4] = [counters.fetch("retransmits")].pack("L")
    info[148, 4] = [counters.fetch("min_rtt_us", 0)].pack("L")
    info[156, 4] = [counters.fetch("segments_out")].pack("L")
    info[176, 8] = [counters.fetch("rwnd_limited_us", 0)].pack("Q")
    info
  end

  rows("causes") do |row, test|
    define_method(test) do
      kernel = Onewrite::KernelEvidence.new(tcp_info(row["before"]), tcp_info(row["after"]), row["wait_ns"],
                                            row["after"].fetch("read_after_ns", 0), true, row["nodelay"])
      assert_equal row.values_at("segments_out", "retransmits", "send_hold_ns", "unread_ns"),
                   [kernel.segments_out, kernel.retransmits, kernel.send_hold_ns, kernel.unread_ns]
      row["cause"] ? assert_equal(row["cause"].to_sym, kernel.cause(row["writes"])) : assert_nil(kernel.cause(row["writes"]))
    end
  end

  # Here a record begins with connecting.
  RECORDS = table("records").fetch("records")
  OURS = RECORDS.select do |_, row|
    [nil, 0].include?(row["at"]["connect_start"]) && (row.fetch("needs", []) - CAPABILITIES).empty?
  end

  def evidence(record)
    kernel = record["kernel"] or return nil
    closed = record["cause"] == "peer_window" ? kernel["send_hold_ns"] / 1000 : 0
    sent = (record["wait_ns"] - kernel["send_hold_ns"]) / 1_000_000
    after = kernel.merge("last_data_sent_ms" => sent, "rwnd_limited_us" => closed,
                         "last_data_recv_ms" => kernel["unread_ns"] / 1_000_000)
    Onewrite::KernelEvidence.new(tcp_info("segments_out" => 0, "retransmits" => 0), tcp_info(after), record["wait_ns"], 0, true,
                                 record["cause"] == "nagle_delayed_ack" ? false : nil)
  end

  # A record with the times of the table.
  def record(name)
    row = RECORDS.fetch(name)
    fields = row.fetch("record")
    start = fields["started_at_mono_ns"]
    at = row["at"].transform_values { |time| time + start }
    values = fields.slice("status", "conn_id", "conn_requests", "idle_ns", "proxy", "resend", "started_at_mono_ns",
                          "started_at_unix_ns")
    values.merge!(at.slice("tls_start", "tls_end", "request_start", "request_end", "response_start", "headers_end",
                           "response_end"))
    values.merge!("connected_at" => at["connection_acquired"] || at["connect_end"], "kernel" => evidence(fields),
                  "connecting" => fields.key?("connect_ns") || nil, "ended" => start + fields["total_ns"],
                  "body_bytes" => fields["bytes_received"], "sent_bytes" => fields["bytes_sent"],
                  "sent_writes" => fields["writes"].to_i, "http_method" => fields["method"])
    values.merge!(fields.slice("outcome", "error_kind", "error_phase").transform_values { |word| word && word.to_sym })
    values["connected_at"] = at["connect_end"] if at["connect_end"] && !at["tls_start"]
    origin, path = fields["url"].to_s.match(%r{\A(\w+://[^/]+)(.*)}).to_a.drop(1)
    Onewrite::Record.new(origin, []).tap do |one|
      values.merge("path" => path).each { |variable, value| one.instance_variable_set(:"@#{variable}", value) }
      one.freeze
    end
  end

  def self.for_us(table)
    rows(table) { |row, test| yield row, test if OURS.key?(row["record"]) }
  end

  for_us("text_form") do |row, test|
    define_method(test) do
      assert_equal row["text"], record(row["record"]).to_s
      assert_includes record(row["record"]).inspect, row["text"]
    end
  end

  OURS.each do |name, row|
    define_method("test_records_#{name}") do
      assert_equal row["record"], JSON.parse(JSON.generate(record(name).to_h))
      at = row["at"].transform_values { |time| time + row["record"]["started_at_mono_ns"] }
      found = record(name).events.to_h.transform_keys(&:to_s)
      assert_empty at.keys - found.keys
      at.each { |event, time| assert_equal time, found[event], event unless event =~ /acquired|released/ }
    end
  end

  for_us("opentelemetry") do |row, test|
    define_method(test) do
      assert_equal row["span"], Onewrite::OpenTelemetry.attributes(record(row["record"]))
    end
  end

  def test_the_tables_are_not_empty
    assert_operator self.class.public_instance_methods(false).size, :>, 80
  end
end
