# frozen_string_literal: true

require_relative "support/helper"
require "io/wait"

# Unusual uses of a session: what works in the library works with the gem.
class TimedSessionTest < OnewriteTest
  # A signal handler must not lock a Mutex; the Timeout of Ruby 3.3, under which Net::HTTP connects, locks one.
  def test_in_a_signal_handler
    script = <<~'RUBY'
      %s
      require "net/http"
      Process.clock_gettime(Process::CLOCK_MONOTONIC)
      told = Queue.new
      trap("USR1") do
        told << Net::HTTP.start("127.0.0.1", ENV["PORT"].to_i, nil) do |http|
          Array.new(2) { http.post("/", "x", "Content-Type" => "text/plain").code }.join(" ")
        end
      rescue Exception => e
        told << "#{e.class}: #{e.message}"
      end
      Process.kill("USR1", Process.pid)
      puts told.pop
    RUBY
    tap = tap_server
    said = ["", "require 'onewrite'", "require 'onewrite'; Onewrite.on_timing { raise 'bug' }"].map do |setup|
      ruby(format(script, setup), env: { "PORT" => tap.port.to_s }, options: ["-W0"]).lines.last.chomp
    end
    assert_includes ["200 200", "ThreadError: can't be called from trap context"], said.first
    assert_equal [said.first] * 3, said
  end

  # Programs call disable! when something is wrong, so at any point of a request.
  Onewrite::Event::NAMES.each do |name|
    define_method("test_disabling_at_#{name} harms no request") do
      tap = tap_server
      http = session(tap) { |one| one.onewrite_listener = listener("on_#{name}") { |_event| Onewrite.disable! } }
      assert_equal "ok", http.request(post("/", "x" * 200)).body
      assert_equal "ok", http.request(post("/", "x" * 200)).body
      Onewrite.enable!
      assert_equal "ok", http.request(post("/", "x" * 200)).body
      assert_equal 1, tap.connections
    end
  end

  def test_a_request_within_the_block_of_another
    tap = tap_server
    http = session(tap)
    records = records_of(http)
    http.request(post("/outer", "x")) do |response|
      assert_equal "ok", response.read_body
      assert_equal "ok", http.request(post("/inner", "x")).body
    end
    http.request(post("/next", "x"))
    assert_equal %w[/inner /outer /next], records.map { |one| URI(one.url).path }
    assert_equal [[:ok, 1, 1]] * 3, records.map { |one| [one.outcome, one.attempts.size, one.writes] }
    assert_equal 1, tap.connections
  end

  # Hooks or the whole adapter are switched off while the outer call runs.
  { "hooks are off" => -> { Onewrite.configure(hooks_disabled: true) },
    "the adapter is off" => -> { Onewrite.disable! } }.each do |what, switch|
    define_method("test_a request within the block of another, made when #{what}, leaves its record alone") do
      tap = tap_server { |seen| seen.line.include?("inner") ? "HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n" : Tap::OK }
      http = session(tap)
      records = records_of(http)
      http.request(post("/outer", "x")) do |response|
        response.read_body
        switch.call
        assert_equal "404", http.request(Net::HTTP::Get.new("/inner")).code
      end
      outer, = records
      assert_equal [1, :ok, 200, 1, false, 2],
                   [outer.attempts.size, outer.outcome, outer.status, outer.writes, outer.reused, outer.bytes_received]
    end
  end

  # The library's methods are put back while the call runs: its record has the outcome, not the phases.
  def test_disabling_between_two_attempts
    requests = 0
    records = []
    tap = tap_server do
      next Tap::OK if (requests += 1) > 1

      Onewrite.disable!
      :close
    end
    http = session(tap) { |one| one.onewrite_timing = records.method(:<<) }
    skip "this net/http repeats once at most" unless http.respond_to?(:max_retries=)
    assert_equal "ok", http.get("/").body
    assert_equal [[:ok, 200, nil]], records.map { |one| [one.outcome, one.status, one.receive_ns] }
  end

  # As one that signs in to a gateway. It calls none of the library's hooks.
  def test_a_connect_that_sends_a_request_itself
    signing_in = Class.new(Net::HTTP) do
      def connect
        super
        return if @signed_in

        @started = @signed_in = true
        request(Net::HTTP::Get.new("/in"))
      end

      def on_connect; end
    end
    records = []
    http = session(tap_server, signing_in) { |one| one.onewrite_timing = records.method(:<<) }
    http.request(post("/", "x"))
    assert_equal [["/in", :ok], ["/", :ok]], records.map { |one| [URI(one.url).path, one.outcome] }
  end

  # Net::HTTP before 0.5 retries a GET after an error in its block: that is an attempt of the outer call.
  def test_an_outer_request_that_is_retried_for_an_error_of_its_inner_one
    failed = false
    tap = tap_server { |seen| seen.line.include?("inner") && !failed ? (failed = :close) : Tap::OK }
    records = []
    get_within = lambda do
      http = session(tap) { |one| one.onewrite_timing = records.method(:<<) }
      http.request(Net::HTTP::Get.new("/outer")) do |response|
        response.read_body
        http.request(post("/inner", "x"))
      end
    end
    Onewrite.disable!
    begin
      get_within.call
    rescue EOFError
      skip "this net/http does not repeat what it has given to the caller"
    end
    Onewrite.enable!
    failed = false
    get_within.call
    assert_equal [["/inner", :error, 1], ["/inner", :ok, 1], ["/outer", :ok, 2]],
                 records.map { |one| [URI(one.url).path, one.outcome, one.attempts.size] }
    assert_equal %i[error ok], records.last.attempts.map(&:outcome)
  end

  # Like net-http-pipeline: the response of the first request is there when the second begins.
  def test_a_gem_that_pipelines_keeps_its_connection
    [false, true].each do |timed|
      tap = tap_server { |seen| Tap::OK.sub("ok", seen.line[%r{/(..)}, 1]) }
      http = session(tap) { |one| one.onewrite_timing = ->(_) {} if timed }
      http.request(Net::HTTP::Get.new("/00"))
      socket = socket_of(http)
      requests = %w[11 22 33].each_with_index.map do |name, index|
        Net::HTTP::Get.new("/#{name}").tap do |request|
          http.__send__(:begin_transport, request)
          request.exec(socket_of(http), "1.1", request.path)
          wait_until { tap.seen.size == index + 2 } # the server takes one at a time
          assert socket.io.wait_readable(30)
        end
      end
      assert_same socket, socket_of(http)
      bodies = requests.map do
        response = Net::HTTPResponse.read_new(socket)
        response.reading_body(socket, true) { response.body }
        response.body
      end
      assert_equal %w[11 22 33], bodies
      assert_equal "44", http.request(Net::HTTP::Get.new("/44")).body
      assert_equal 1, tap.connections
    end
  end

  # A Fiber that is never resumed leaves its body half sent; the next request must not follow on that connection.
  def test_a_body_left_half_sent_by_a_fiber_ends_its_connection
    tap = tap_server
    http = session(tap)
    source = Object.new
    source.define_singleton_method(:read) { |*| Fiber.yield }
    sending = Fiber.new do
      request = Net::HTTP::Post.new("/half", "Content-Type" => "text/plain", "Transfer-Encoding" => "chunked")
      request.body_stream = source
      http.request(request)
    end
    sending.resume
    assert_equal "ok", http.request(post("/whole", "x")).body
    assert_equal ["POST /whole HTTP/1.1"], tap.seen.map(&:line)
    assert_equal [2], tap.seen.map(&:connection)
  end

  # The times of connecting belong to the first request, also where that has no hook.
  def test_a_request_without_a_hook_drops_the_times_of_connecting
    tap = tap_server { |_, socket| socket.write("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n") && :close }
    http = session(tap)
    records = records_of(http)
    http.onewrite_timing = nil
    2.times { http.request(post("/", "x")) }
    http.onewrite_timing = records.method(:<<)
    before = Onewrite.const_get(:Clock).now
    http.request(post("/", "x"))
    assert_operator records[0].started_at_mono_ns, :>=, before
  end

  # Errors of a `connect` whose methods raise.
  { "without a message" => Class.new(StandardError) { define_method(:message) { nil } },
    "with a message of another encoding" => Class.new(StandardError) { define_method(:message) { "x@y".encode("UTF-16LE") } },
    "without a name" => Class.new(OpenSSL::SSL::SSLError) { define_singleton_method(:to_s) { raise } } }.each do |what, type|
    define_method("test_an error #{what} reaches the caller") do
      http = Net::HTTP.new("127.0.0.1", 9, nil)
      http.define_singleton_method(:connect) { raise type }
      records = records_of(http)
      http.onewrite_listener = Onewrite::TimingListener.new
      assert_raises(type) { http.get("/") }
      assert_equal [[:error, :other]], records.map { |one| [one.outcome, one.error_kind] }
    end
  end

  # A session that was not started has no request yet when it connects.
  def test_the_record_of_a_refused_connection_has_no_method_and_the_url_of_the_session
    http = Net::HTTP.new("127.0.0.1", refusing_port, nil)
    records = records_of(http)
    [false, true].each do |tls|
      http.use_ssl = tls
      assert_raises(Errno::ECONNREFUSED) { http.get("/") }
    end
    assert_equal [["", "http"], ["", "https"]], records.map { |one| [one.method, URI(one.url).scheme] }
  end
end
