# frozen_string_literal: true

require_relative "support/helper"
require_relative "support/pieces"
require "io/wait"
require "stringio"

# Which connection may carry the next request.
class SessionTest < OnewriteTest
  def assert_next_is_clean(http, tap)
    response = http.request(Net::HTTP::Get.new("/next"))
    assert_equal "ok", response.body
    assert_equal 2, tap.connections
  end

  def on_first(answer)
    proc { |seen, socket| socket.write(seen.connection == 1 ? answer : Tap::OK) }
  end

  [false, true].each do |tls|
    over = tls ? "TLS" : "TCP"

    define_method("test_a_second_answer_is_not_given_to_the_next_caller_over_#{over}") do
      late = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"
      answered = Queue.new
      tap = tap_server(tls: tls) do |seen, socket|
        socket.write(Tap::OK)
        if seen.connection == 1
          answered.pop
          socket.write(late)
        end
      end
      http = session(tap)
      assert_equal "ok", http.request(post("/", "x")).body
      answered << true
      assert socket_of(http).io.to_io.wait_readable(30)
      assert_next_is_clean(http, tap)
    end

    define_method("test_bytes_behind_an_answer_are_not_given_to_the_next_caller_over_#{over}") do
      tap = tap_server(tls: tls, &on_first("#{Tap::OK}HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"))
      http = session(tap)
      http.request(post("/", "x"))
      assert_next_is_clean(http, tap)
    end

    define_method("test_a_connection_is_kept_over_#{over}") do
      tap = tap_server(tls: tls)
      http = session(tap)
      10.times { http.request(post("/", "x")) }
      assert_equal 1, tap.connections
    end
  end

  def test_the_rest_of_an_unread_response_does_not_reach_the_next_caller
    tap = tap_server(&on_first("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n#{"x" * 100}"))
    http = session(tap)
    catch(:enough) { http.request(post("/", "x")) { throw :enough } }
    assert_next_is_clean(http, tap)
  end

  def test_leaving_the_block_after_reading_keeps_the_connection
    tap = tap_server
    http = session(tap)
    reader = -> { http.request(post("/", "x")) { |response| return response.body } }
    3.times { assert_equal "ok", reader.call }
    assert_equal 1, tap.connections
  end

  def test_a_late_answer_after_an_outer_timeout_reaches_nobody
    late = Queue.new
    tap = tap_server do |seen, socket|
      slow = seen.line.include?("/slow")
      late.pop if slow
      socket.write(slow ? Tap::OK.sub("ok", "NO") : Tap::OK)
    end
    http = session(tap)
    [0.3, 3, 30].each do |limit| # until it was long enough for the request to arrive
      assert_raises(Timeout::Error) { Timeout.timeout(limit) { http.request(post("/slow", "x")) } }
      break if tap.seen.any?
    end
    late.close
    assert_equal "ok", http.get("/next").body
    slow, others = tap.seen.partition { |seen| seen.line.include?("/slow") }.map { |some| some.map(&:connection) }
    assert_empty slow & others
    refute_empty slow
  end

  def test_a_connection_the_server_closed_while_idle_is_replaced
    tap = tap_server { |seen, socket| socket.write(Tap::OK) && (seen.connection == 1 ? :close : nil) }
    http = session(tap)
    http.request(post("/", "x"))
    assert socket_of(http).io.wait_readable(30)
    assert_next_is_clean(http, tap)
  end

  def test_a_post_is_not_repeated
    tap = tap_server { :close }
    http = session(tap)
    assert_raises(EOFError) { http.request(post("/", "x")) }
    assert_equal 1, tap.seen.size
  end

  # The server closes the kept connection when the request comes, as after an idle time. Net::HTTP repeats a PUT; its stream
  # is spent then.
  { "a StringIO" => ->(text) { StringIO.new(text) }, "an object that reads" => lambda { |text|
                                                                                 Pieces.new(text)
                                                                               } }.each do |what, make|
    define_method("test_a_repeated_request_whose_stream_was_#{what} raises the error of its first attempt") do
      tap = tap_server { |seen| seen.line.start_with?("PUT") && seen.connection == 1 ? :close : Tap::OK }
      records = []
      http = session(tap) { |one| one.onewrite_timing = records.method(:<<) }
      http.get("/")
      request = Net::HTTP::Put.new("/", "Content-Type" => "text/plain", "Content-Length" => "50")
      request.body_stream = make.call("s" * 50)
      assert_raises(EOFError) { http.request(request) }
      assert_equal [[:closed, 2]], records.drop(1).map { |one| [one.error_kind, one.attempts.size] }
      request.body_stream = make.call("s" * 49)
      assert_raises(Onewrite::Error) { http.request(request) } # this one is the caller's
      request.body_stream = make.call("s" * 50)
      assert_equal "200", http.request(request).code
    end
  end

  def test_disabled_everything_is_as_in_the_library
    Onewrite.disable!
    tap = tap_server(&on_first("#{Tap::OK}HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"))
    http = session(tap)
    http.request(post("/", "x"))
    assert_equal "evil", http.request(Net::HTTP::Get.new("/next")).body
  end

  # A reader of one POST follows these calls of ours, and comes back to a file that was left as often as this. In a process
  # where no hook was set.
  def test_a_post_is_a_short_walk
    calls, returns = ruby(<<~'RUBY', env: { "PORT" => tap_server.port.to_s }).split.map(&:to_i)
      require "onewrite"
      files = []
      trace = TracePoint.new(:call) { |point| files << point.path if point.path.include?("/lib/onewrite/") }
      Net::HTTP.start("127.0.0.1", ENV["PORT"].to_i, nil) do |http|
        2.times { http.post("/", "x", "Content-Type" => "text/plain") }
        trace.enable { http.post("/", "x", "Content-Type" => "text/plain") }
      end
      puts files.size, files.each_cons(2).with_index(1).count { |(from, to), at| from != to && files[0...at].include?(to) }
    RUBY
    assert_includes 10..22, calls
    assert_operator returns, :<=, 2
  end
end
