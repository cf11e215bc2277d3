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
    define_method("test_a_connection_is_kept_over_#{tls ? "TLS" : "TCP"}") do
      tap = tap_server(tls: tls)
      http = session(tap)
      10.times { http.request(post("/", "x")) }
      assert_equal 1, tap.connections
    end

    # Net::HTTP tests an idle connection for its end alone. So does the gem.
    define_method("test_bytes_behind_an_answer_are_read_as_without_the_gem_over_#{tls ? "TLS" : "TCP"}") do
      seen = [true, false].map do |with|
        with ? Onewrite.enable! : Onewrite.disable!
        tap = tap_server(tls: tls, &on_first("#{Tap::OK}HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"))
        http = session(tap)
        http.request(post("/", "x"))
        [http.request(Net::HTTP::Get.new("/next")).body, tap.connections]
      end
      assert_equal seen[1], seen[0]
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

  # A repetition may have answered what the first attempt gave to the caller's block.
  def test_a_repetition_that_is_given_up_is_closed_though_the_first_response_was_read
    fetched = 0
    tap = tap_server { |seen| seen.connection == 1 ? Tap::OK : sleep(5) && Tap::OK }
    http = session(tap)
    begin
      Timeout.timeout(0.5) do
        http.request(Net::HTTP::Get.new("/")) do |response|
          response.read_body
          raise Errno::ECONNRESET if (fetched += 1) == 1
        end
      end
    rescue Timeout::Error
      assert_predicate socket_of(http), :closed?
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

  def test_disabled_everything_is_as_in_the_library
    Onewrite.disable!
    tap = tap_server(&on_first("#{Tap::OK}HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"))
    http = session(tap)
    http.request(post("/", "x"))
    assert_equal "evil", http.request(Net::HTTP::Get.new("/next")).body
  end

  # A reader of one POST follows these calls of ours, and comes back to a file that was left as often as this.
  { "" => [6, 15, 0], "with a hook" => [18, 27, 4] }.each do |hook, (fewest, most, most_returns)|
    define_method("test_a_post_#{hook} is a short walk") do
      calls, returns = ruby(<<~RUBY, env: { "PORT" => tap_server.port.to_s }).split.map(&:to_i)
        require "onewrite"
        #{"Onewrite.on_timing { |timing| timing }" unless hook.empty?}
        walks = []
        files = nil
        trace = TracePoint.new(:call) { |point| files << point.path if point.path.include?("/lib/onewrite/") }
        Net::HTTP.start("127.0.0.1", ENV["PORT"].to_i, nil) do |http|
          2.times { http.post("/", "x", "Content-Type" => "text/plain") }
          20.times do # of which one has a prompt answer
            walks << files = []
            trace.enable { http.post("/", "x", "Content-Type" => "text/plain") }
          end
        end
        files = walks.min_by(&:size)
        puts files.size, files.each_cons(2).with_index(1).count { |(from, to), at| from != to && files[0...at].include?(to) }
      RUBY
      assert_includes fewest..most, calls
      assert_operator returns, :<=, most_returns
    end
  end
end
