# frozen_string_literal: true

require_relative "support/helper"
require "minitest/mock"
require_relative "../bench/origin"

# Setting and removing hooks, errors in hooks, and that without a hook timing costs nothing.
class HooksTest < OnewriteTest
  # Two libraries of a program may set the same block.
  def test_hooks_add_and_a_handle_removes_its_own_alone
    records = []
    block = records.method(:<<).to_proc
    first, second = Array.new(2) { Onewrite.on_timing(&block) }
    http = session(tap_server)
    http.request(post("/", "x"))
    assert_equal 2, records.size
    2.times { first.remove }
    http.request(post("/", "x"))
    assert_equal 3, records.size
    second.remove
    http.request(post("/", "x"))
    assert_equal [3, 0], [records.size, Onewrite.status[:hooks]]
  end

  def test_a_hook_that_cannot_be_called_is_refused
    skip "the signatures refuse it before" if ENV["RBS_TEST_TARGET"]
    http = Net::HTTP.new("127.0.0.1", 9)
    assert_raises(ArgumentError) { Onewrite.on_timing }
    assert_raises(ArgumentError) { http.onewrite_timing = "log" }
    assert_nil http.onewrite_timing
  end

  def test_hooks_of_the_process_come_before_that_of_the_session
    told = []
    Onewrite.on_timing { told << :everybody }
    http = session(tap_server, start: false) { |one| one.onewrite_timing = ->(_) { told << :own } }
    http.request(post("/", "x"))
    assert_equal %i[everybody own], told
  end

  # One hook alone: the connection is free, so the hook may use it.
  def test_a_hook_runs_when_the_connection_is_free_or_closed
    tap = tap_server { |seen| "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n#{seen.line[%r{/(\w+)}, 1]}" }
    http = session(tap)
    answers = []
    hook = Onewrite.on_timing { answers << http.get("/metric").body }
    assert_equal "orderr", http.get("/orderr").body
    http.request_get("/orderr") { break }
    hook.remove
    assert_equal [["metric"] * 2, 2], [answers, tap.connections]
    closed = nil
    Onewrite.on_timing { closed = socket_of(http).closed? }
    assert_raises(KeyError) { http.request_get("/orderr") { raise KeyError } }
    assert closed
  end

  def test_a_hook_that_raises_changes_nothing_and_is_warned_of_once
    out = ruby(<<~RUBY, env: { "PORT" => tap_server.port.to_s })
      require "onewrite"
      seen = 0
      Onewrite.on_timing { raise "why" }
      Onewrite.on_timing { seen += 1 }
      Net::HTTP.start("127.0.0.1", ENV["PORT"].to_i) { |http| 3.times { http.get("/") } }
      puts "seen \#{seen}, errors \#{Onewrite.status[:hook_errors]}"
    RUBY
    assert_match(/seen 3, errors 3/, out)
    assert_equal 1, out.scan(/a hook raised RuntimeError: why \(-e:3/).size
  end

  # Without a hook a request allocates as many objects as with the timing patches bypassed.
  def test_without_a_hook_a_request_makes_no_more_objects
    skip "the check of signatures makes objects" if ENV["RBS_TEST_TARGET"]
    # The server is another process, so that its objects are not counted. It pauses, because a read that waits allocates.
    port, pid = Origin.start(0.003)
    @closing << -> { Process.kill(:KILL, pid) && Process.wait(pid) }
    http = Net::HTTP.start("127.0.0.1", port)
    count = lambda do
      counts = Array.new(60) do
        request = post("/", "x")
        before = GC.stat(:total_allocated_objects)
        http.request(request)
        GC.stat(:total_allocated_objects) - before
      end
      mode(counts)
    end
    stock, ours = stock_and_ours { count.call }
    # One write saves as many objects as holding the head costs; before 2.6 a write of the library allocated fewer.
    assert_operator ours, :<=, stock if Net.const_defined?(:WriteTimeout)
    Onewrite.on_timing { nil }
    assert_operator count.call, :>=, ours + 3, "the count sees the objects of timing"
  end

  def test_without_a_hook_the_methods_of_timing_do_not_exist
    out = ruby(<<~'RUBY')
      require "onewrite"
      timed = -> { Onewrite.status[:patches].include?("Net::HTTP#end_transport") }
      before = timed.call
      hook = Onewrite.on_timing { nil }
      p [before, timed.call, hook.remove, timed.call]
    RUBY
    assert_equal "[false, true, nil, false]\n", out
  end

  # @return [Array<Integer>] how often the gem reads the clock and TCP_INFO for one request
  def asked(&request)
    lib = File.join(ROOT, "lib")
    counts = Hash.new(0)
    trace = TracePoint.new(:c_call) { |call| counts[call.method_id] += 1 if call.path.start_with?(lib) }
    trace.enable(&request)
    [counts[:clock_gettime], counts[:getsockopt]]
  end

  def test_a_timed_request_with_a_prompt_answer_reads_the_clock_six_times_and_no_tcp_info
    skip "the check of signatures calls in our name" if ENV["RBS_TEST_TARGET"]
    http = session(tap_server)
    http.request(post("/", "x"))
    assert_equal [0, 0], mode(Array.new(5) { asked { http.request(post("/", "x")) } })
    records = records_of(http)
    timed = Array.new(30) { asked { http.request(post("/", "x")) } }
    timed = timed.zip(records).drop(1) # the first also looks at the counters before it
    prompt, late = timed.partition { |_, record| record.wait_ns < 1_000_000 }
    assert_equal [6, 0], mode(prompt.map(&:first)) if prompt.size >= 5
    assert(late.all? { |counts, record| counts[1] >= 1 && record.kernel }) if Onewrite.status[:kernel_evidence]
  end

  FULL = SizedQueue.new(1) << 0

  def test_a_time_limit_ends_a_hook_that_blocks_and_reaches_the_program_and_its_thread_can_be_killed
    http = session(tap_server)
    hook = Onewrite.on_timing { FULL << 1 }
    assert_raises(Timeout::Error) { Timeout.timeout(0.1) { http.request(post("/", "x")) } }
    # In a Fiber the error of a limit around it is raised, not thrown.
    assert_raises(Timeout::Error) { Timeout.timeout(0.1) { Fiber.new { http.request(post("/", "x")) }.resume } }
    thread = Thread.new { http.request(post("/", "x")) }
    wait_until { thread.stop? && FULL.num_waiting == 1 }
    assert thread.kill.join(10)
    hook.remove
    assert_equal "200", http.request(post("/", "x")).code
  end

  def test_signals_and_the_end_of_the_program_end_a_hook_that_blocks
    { "Process.kill(:TERM, Process.pid)" => "SignalException", "Thread.main.raise(Interrupt)" => "Interrupt",
      "Thread.main.raise(SystemExit)" => "SystemExit" }.each do |way, error|
      out = ruby(<<~RUBY, env: { "PORT" => tap_server.port.to_s })
        require "onewrite"
        full = SizedQueue.new(1) << 0
        Onewrite.on_timing { |timing| full << timing }
        Thread.new { sleep 0.01 until full.num_waiting == 1; #{way} }
        begin
          Net::HTTP.get(URI("http://127.0.0.1:\#{ENV["PORT"]}/"))
        rescue SignalException, SystemExit => e
          puts e.class
        end
      RUBY
      assert_equal "#{error}\n", out
    end
  end

  # A hook's own errors.
  OWN = {
    "a SystemStackError" => (deep = ->(at) { deep.call(at + 1) }.then { ->(_) { deep.call(0) } }),
    "a NotImplementedError" => ->(_) { raise NotImplementedError },
    "an error without a message" => ->(_) { raise Class.new(StandardError) { define_method(:message) { raise } } },
    "a Timeout of its own" => ->(_) { Timeout.timeout(0.01) { sleep } },
    "the message of a time limit" => ->(_) { raise Timeout::Error, "execution expired" },
    "a StopIteration" => ->(_) { raise StopIteration },
    "a throw to nobody" => ->(_) { throw :nobody },
    "a break out of its block" => proc { |_| break }
  }.freeze

  OWN.each do |what, hook|
    define_method("test_#{what} in a hook does not replace the answer") do
      http = session(tap_server)
      before = Onewrite.status[:hook_errors]
      set = Onewrite.on_timing(&hook)
      answer = Timeout.timeout(15) { http.request(post("/", "x")).code }
      set.remove
      assert_equal "200", answer
      assert_operator Onewrite.status[:hook_errors], :>, before
    end
  end

  # What stops a thread, a task or the process.
  STOPPING = {
    "an Exception of a test framework" => ->(_) { raise Minitest::Assertion },
    "a NoMemoryError" => ->(_) { raise NoMemoryError },
    "a throw" => ->(_) { throw :answered, :stopped },
    "a Fiber that is stopped" => ->(_) { Fiber.yield }
  }.freeze

  STOPPING.each do |what, hook|
    define_method("test_#{what} in a hook passes, and the session goes on") do
      http = session(tap_server)
      before = Onewrite.status[:hook_errors]
      set = Onewrite.on_timing(&hook)
      fiber = Fiber.new { catch(:answered) { http.request(post("/", "x")) } }
      seen = begin
        answer = fiber.resume
        fiber.alive? ? fiber.raise(SecurityError) : answer
      rescue Exception => e # rubocop:disable Lint/RescueException
        e.class
      end
      set.remove
      assert_includes [:stopped, Minitest::Assertion, NoMemoryError, SecurityError], seen
      assert_equal before, Onewrite.status[:hook_errors]
      assert_equal "200", http.request(post("/", "x")).code
    end
  end

  def test_a_closed_stderr_does_not_replace_the_answer
    out = ruby(<<~RUBY, env: { "PORT" => tap_server.port.to_s })
      require "onewrite"
      Onewrite.on_timing { raise "bug" }
      $stderr = Object.new.tap { |broken| broken.define_singleton_method(:write) { |*| raise IOError } }
      puts Net::HTTP.get(URI("http://127.0.0.1:\#{ENV["PORT"]}/"))
    RUBY
    assert_equal "ok\n", out
  end

  # Or it could call itself without end.
  def test_a_request_that_a_hook_sends_has_no_record
    tap = tap_server
    paths = []
    2.times do
      Onewrite.on_timing do |record|
        paths << URI(record.url).path
        Net::HTTP.get(URI(tap.url("/inner")))
      end
    end
    Net::HTTP.get(URI(tap.url("/")))
    assert_equal [["/", "/"], 3], [paths, tap.seen.size]
  end

  def test_a_request_interrupted_at_any_moment_has_at_most_one_record
    http = session(tap_server)
    records = records_of(http)
    300.times do |index|
      begin
        Timeout.timeout(0.00001 * (index % 60)) { http.request(post("/", "x")) }
        assert_equal :ok, records.last.outcome
      rescue Timeout::Error
        nil # where no method of the adapter was running, its record comes when the next request begins
      end
      assert_operator records.size, :<=, index + 1
    end
    assert_equal records.uniq, records
    assert_equal "ok", http.request(post("/", "x")).body
  end

  # As tests do it; with one parameter, as Net::HTTP calls it.
  def test_a_stand_in_for_the_clock_reaches_no_request
    http = session(tap_server)
    records = records_of(http)
    http.get("/")
    stand_in = ->(_id) { 5.0 }
    Process.stub(:clock_gettime, stand_in) { 2.times { assert_equal "200", http.post("/", "x").code } }
    assert_equal 3, records.size
    records.each_cons(2) { |one, other| assert_operator one.started_at_mono_ns, :<, other.started_at_mono_ns }
  end

  def test_a_frozen_thread_gets_its_answer
    http = session(tap_server)
    Onewrite.on_timing { nil }
    assert_equal "200", Thread.new { Thread.current.freeze && http.request(post("/", "x")).code }.value
  end

  def test_uninstalled_no_hook_is_called_and_installed_again_it_is
    http = session(tap_server)
    records = records_of(http)
    Onewrite.on_timing { |one| records << one }
    Onewrite.uninstall
    http.request(post("/", "x"))
    assert_equal [[], []], [records, Onewrite.status[:patches]]
    Onewrite.install
    http.request(post("/", "x"))
    assert_equal 2, records.size
  end

  # Each of these is called in a signal handler, where no lock may be taken.
  def test_switches_work_in_a_signal_handler
    out = ruby(<<~'RUBY')
      require "onewrite"
      done = Queue.new
      hook = nil
      ways = [-> { Onewrite.install(quickack: true) }, -> { hook = Onewrite.on_timing { nil } }, -> { Onewrite.status },
              -> { hook.remove }, -> { Net::HTTP.new("x").onewrite_timing = ->(_) {} }, -> { Onewrite.uninstall }]
      trap("USR1") { done << (ways.shift.call; true) rescue done << $!.class }
      ways.size.times do
        Process.kill("USR1", Process.pid)
        puts done.pop
      end
    RUBY
    assert_equal ["true\n"] * 6, out.lines
  end
end
