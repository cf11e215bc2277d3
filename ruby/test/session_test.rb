# frozen_string_literal: true

require_relative "support/helper"

# Which connection may carry the next request.
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
end
