# frozen_string_literal: true

require_relative "support/helper"

# Server-Timing of real responses: only fields of the final response count, and no content of it harms the call. How a
# field is parsed is in tables_test.
class ServerTimingTest < OnewriteTest
  # Answers with a delay, so that there is a wait to split; it begins when the client has begun to wait.
  def answering(head, body = "ok")
    client = Thread.current
    tap_server do
      wait_until { client.stop? }
      sleep 0.005
      "HTTP/1.1 #{head}\r\nContent-Length: #{body.bytesize}\r\n\r\n#{body}"
    end
  end

  # @param told [Boolean] whether a listener gets the events, too
  def timed(tap, told, **options)
    @records = []
    session(tap, **options) do |http|
      http.onewrite_timing = @records.method(:<<)
      http.onewrite_listener = Onewrite::TimingListener.new if told
      http.max_retries = 1 if http.respond_to?(:max_retries=)
    end
  end

  def said(record)
    record.server_timing.to_a.map { |one| [one.name, one.duration_ns, one.description] }
  end

  [true, false].each do |told|
    with = told ? " with a listener" : ""

    define_method("test_a response splits its wait#{with}") do
      http = timed(answering("200 OK\r\nserver-timing: db;dur=1.5;desc=\"a, b\"\r\nServer-Timing: total;dur=2, miss"), told)
      response = http.request(post("/", "x"))
      response.add_field("Server-Timing", "later;dur=3") # the response is the caller's
      assert_equal [["db", 1_500_000, "a, b"], ["total", 2_000_000, nil], ["miss", nil, nil]], said(@records[0])
      assert_equal [2_000_000, @records[0].wait_ns - 2_000_000], [@records[0].server_ns, @records[0].network_ns]
      assert_equal @records[0].wait_ns, @records[0].attempts[0].to_h.values_at(:server_ns, :network_ns).sum
      assert_match(/wait \d+\.\d(?: \(server\))? = server 2\.0 \+ network \d+\.\d,/, @records[0].to_s)
    end

    define_method("test_a response without a body#{with}") do
      http = timed(answering("200 OK\r\nServer-Timing: app;dur=1", ""), told)
      http.request(Net::HTTP::Head.new("/"))
      assert_equal [["app", 1_000_000, nil]], said(@records[0])
    end

    define_method("test_a block that leaves the body unread#{with}") do
      http = timed(answering("200 OK\r\nServer-Timing: app;dur=1"), told)
      http.request(Net::HTTP::Get.new("/")) { break }
      assert_equal [["app", 1_000_000, nil]], said(@records[0])
    end

    define_method("test_an interim response does not count#{with}") do
      interim = "100 Continue\r\nServer-Timing: early;dur=1\r\n\r\nHTTP/1.1 "
      http = timed(tap_server { "HTTP/1.1 #{interim}200 OK\r\nContent-Length: 2\r\n\r\nok" }, told)
      http.request(post("/", "x"))
      assert_nil @records[0].server_timing
      refute_includes @records[0].to_h.keys, :server_timing
    end

    define_method("test_an attempt whose body broke off, and the next one#{with}") do
      answers = ["Server-Timing: app;dur=1\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nok", "Content-Length: 2\r\n\r\nok"]
      http = timed(tap_server { |_, socket| socket.write("HTTP/1.1 200 OK\r\n#{answers.shift}") && :close }, told)
      http.request(Net::HTTP::Get.new("/"))
      assert_equal([[["app", 1_000_000, nil]], []], @records[0].attempts.map { |one| said(one) })
      assert_nil @records[0].server_timing
    end
  end

  def test_a_server_time_longer_than_the_wait_is_dropped
    http = timed(answering("200 OK\r\nServer-Timing: total;dur=60000"), false)
    http.request(post("/", "x"))
    assert_equal [[["total", 60_000_000_000, nil]], nil, nil], [said(@records[0]), @records[0].server_ns, @records[0].network_ns]
    refute_includes @records[0].to_s, "network"
  end

  # Bytes from the wire that are valid in no encoding.
  def test_bytes_that_are_no_text
    http = timed(answering("200 OK\r\nServer-Timing: a;desc=\"d\xC3\xA9\";dur=1, \xFF, b;dur=\"\xE9".b), false)
    assert_equal "200", http.request(post("/", "x")).code
    assert_equal [["a", 1_000_000, "d\u00C3\u00A9"], ["b", nil, nil]], said(@records[0])
    assert_equal Encoding::UTF_8, @records[0].server_timing[0].description.encoding
  end

  # Of a field far beyond the limits only the beginning is parsed.
  def test_a_huge_field_takes_no_time
    ["\"" * 60_000, "a," * 30_000, "a;dur=1;" * 7000, "\\\"" * 30_000, "a;desc=\"#{"\\" * 60_000}"].each do |field|
      started = Process.clock_gettime(Process::CLOCK_MONOTONIC)
      assert_operator Onewrite::ServerTiming.parse([field] * 3).size, :<=, 32
      assert_operator Process.clock_gettime(Process::CLOCK_MONOTONIC) - started, :<, 2
    end
  end
end
