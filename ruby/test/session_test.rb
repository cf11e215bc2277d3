# frozen_string_literal: true

require_relative "support/helper"
require "openssl"

# Which connection may carry the next request, and unusual uses of a session: what works in the library works with the gem.
class SessionTest < OnewriteTest
  def test_leaving_the_block_after_reading_keeps_the_connection
    tap = tap_server
    http = session(tap)
    reader = -> { http.request(post("/", "x")) { |response| return response.body } }
    3.times { assert_equal "ok", reader.call }
    assert_equal 1, tap.connections
  end

  # A watchdog ends a request so.
  def test_a_session_that_two_threads_finish_at_once
    http = session(tap_server)
    others = [Thread.new { Thread.stop || http.__send__(:do_finish) }]
    wait_until { others[0].stop? }
    socket_of(http).io.define_singleton_method(:close) do
      super()
      (other = others.pop) && other.run.join(10)
    end
    http.finish
    refute_predicate http, :started?
    assert_empty others
  end

  # A repetition may have answered what the first attempt gave to the caller's block.
  def test_a_repetition_that_is_given_up_is_not_continued_though_the_first_response_was_read
    fetched = 0
    tap = tap_server { |seen| seen.connection == 2 ? sleep(5) && Tap::OK : Tap::OK }
    http = session(tap)
    begin
      Timeout.timeout(0.5) do
        http.request(Net::HTTP::Get.new("/")) do |response|
          response.read_body
          raise Errno::ECONNRESET if (fetched += 1) == 1
        end
      end
    rescue Timeout::Error
      assert_equal ["200", 3], [http.get("/").code, tap.seen.last.connection]
    rescue Errno::ECONNRESET
      skip "this net/http does not repeat what it has given to the caller"
    end
  end

  # Random moments of giving up, over one session. Each answer names its request.
  { "Timeout" => ->(limit, &send) { Timeout.timeout(limit, &send) },
    "a throw" => lambda { |limit, &send|
      catch(:enough) { Thread.handle_interrupt(StandardError => :immediate) { Timeout.timeout(limit, &send) } }
    },
    "Thread#kill" => lambda { |limit, &send|
      thread = Thread.new(&send)
      thread.join(limit) || thread.kill.join
      thread.value
    } }.each do |what, limited|
    define_method("test_no_answer_goes_to_another_request_after_#{what}") do
      tap = tap_server { |seen| "HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n#{seen.line[%r{/(\d+)}, 1].rjust(8, "0")}" }
      http = session(tap)
      random = Random.new(Integer(ENV.fetch("SEED", "1")))
      wrong = Array.new(300) do |number|
        answer = begin
          limited.call(random.rand * 0.001) { http.request(post("/#{number}", "x")).body }
        rescue Timeout::Error
          nil
        end
        answer && answer.to_i != number
      end
      assert_equal 0, wrong.count(true)
      assert_equal "00000999", http.get("/999").body
    end
  end

  # The next request does not get what stands in the rest of another's body.
  def test_a_fiber_that_is_left_in_its_block_leaves_no_answer_to_the_next_request
    [false, true].each do |timed|
      tap = tap_server do |seen, socket|
        next "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nright" if seen.line.include?("/b")

        socket.write("HTTP/1.1 200 OK\r\nContent-Length: 90\r\n\r\n#{"x" * 50}")
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nwrong"
      end
      http = session(tap)
      records = timed ? records_of(http) : []
      export = Enumerator.new { |y| http.request_get("/a") { |response| response.read_body { |piece| y << piece } } }
      export.next
      assert_equal "right", http.get("/b").body
      assert_equal (timed ? %i[ok ok] : []), records.map(&:outcome)
    end
  end

  # Gems that send requests before they read answers ask for `pipeline`.
  def test_a_gem_that_pipelines_keeps_its_connection
    [false, true].each do |timed|
      tap = tap_server { |seen| Tap::OK.sub("ok", seen.line[%r{/(..)}, 1]) }
      http = session(tap) { |one| one.onewrite_timing = ->(_) {} if timed }
      http.define_singleton_method(:pipeline) { nil }
      http.request(Net::HTTP::Get.new("/00"))
      requests = %w[11 22 33].map { |name| Net::HTTP::Get.new("/#{name}") }
      requests.each do |request|
        http.__send__(:begin_transport, request)
        request.exec(socket_of(http), "1.1", request.path)
      end
      bodies = requests.map do
        response = Net::HTTPResponse.read_new(socket_of(http))
        response.reading_body(socket_of(http), true) { response.body }
        response.body
      end
      assert_equal %w[11 22 33], bodies
      assert_equal "44", http.request(Net::HTTP::Get.new("/44")).body
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
    assert_equal %w[/outer /inner /next], records.map { |one| URI(one.url).path }
    assert_equal [[:ok, 1, 2]] * 3, records.map { |one| [one.outcome, one.writes, one.bytes_received] }
    assert_equal 1, tap.connections
  end

  def test_an_answer_without_a_body_leaves_the_connection_when_the_block_is_left
    tap = tap_server { "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n" }
    http = session(tap)
    3.times { http.request_get("/") { break } }
    3.times { http.request(Net::HTTP::Head.new("/")) { break } }
    assert_equal 1, tap.connections
  end

  # Programs uninstall when something is wrong, so at any point of a request.
  { "within the block" => ->(http, request) { http.request(request) { |response| Onewrite.uninstall && response.read_body } },
    "while the body is sent" => lambda { |http, request|
      source = Object.new
      pieces = ["hello"]
      source.define_singleton_method(:read) { |_, into| Onewrite.uninstall || (pieces.any? ? into.replace(pieces.shift) : nil) }
      request.body = nil
      request.body_stream = source
      request.content_length = 5
      http.request(request)
    } }.each do |what, send|
    [false, true].each do |timed|
      define_method("test_uninstalling #{what}#{" of a timed request" if timed} harms no request") do
        tap = tap_server
        http = session(tap)
        records_of(http) if timed
        assert_equal "ok", send.call(http, post("/", "x" * 200)).body
        assert_equal "ok", http.request(post("/", "x" * 200)).body
        Onewrite.install
        assert_equal "ok", http.request(post("/", "x" * 200)).body
        assert_operator tap.connections, :<=, 2 # what was begun with the gem and ended without it looks given up
      end
    end
  end

  # As where threads share a session without a lock. The record of the first has ended when its answer comes.
  def test_a_request_that_begins_while_another_waits_raises_nothing_in_it
    Onewrite.install(observe: true)
    seen = Queue.new
    answer = Queue.new
    http = session(tap_server { (seen << 1) && answer.pop })
    records = records_of(http)
    waiting = Thread.new { http.get("/first").body }
    seen.pop
    http.__send__(:begin_transport, Net::HTTP::Get.new("/second"))
    answer << Tap::OK
    assert_equal "ok", waiting.value
    assert_equal %i[cancelled wait], [records[0].outcome, records[0].error_phase]
  end

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
    assert_includes records.map { |one| [URI(one.url).path, one.outcome] }, ["/in", :ok]
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

  # Errors of a `connect` whose methods raise.
  { "without a message" => Class.new(StandardError) { define_method(:message) { nil } },
    "with a message of another encoding" => Class.new(StandardError) { define_method(:message) { "x@y".encode("UTF-16LE") } },
    "without a name" => Class.new(OpenSSL::SSL::SSLError) { define_singleton_method(:to_s) { raise } } }.each do |what, type|
    define_method("test_an error #{what} reaches the caller") do
      http = Net::HTTP.new("127.0.0.1", 9, nil)
      http.define_singleton_method(:connect) { raise type }
      records = records_of(http)
      assert_raises(type) { http.get("/") }
      assert_equal [[:error, :other]], records.map { |one| [one.outcome, one.error_kind] }
    end
  end
end
