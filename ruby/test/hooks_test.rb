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
    assert first.remove
    refute first.remove
    http.request(post("/", "x"))
    assert_equal 3, records.size
    assert second.remove
    http.request(post("/", "x"))
    assert_equal [3, 0], [records.size, Onewrite.status[:hooks]]
  end

  def test_a_hook_that_cannot_be_called_is_refused
    skip "the signatures refuse it before" if ENV["RBS_TEST_TARGET"]
    http = Net::HTTP.new("127.0.0.1", 9)
    assert_raises(ArgumentError) { Onewrite.add_listener(Object.new) }
    assert_raises(ArgumentError) { Onewrite.on_timing }
    assert_raises(ArgumentError) { http.onewrite_timing = "log" }
    assert_raises(ArgumentError) { http.onewrite_listener = -> {} }
    assert_nil http.onewrite_timing
  end

  # A Struct has to_a, so a splat would expand it.
  def test_a_listener_of_a_session_may_be_a_struct_and_global_ones_come_first
    listener = Struct.new(:who, :told) { define_method(:on_event) { |event| told << [who, event.name] } }
    told = []
    Onewrite.add_listener(listener.new(:everybody, told))
    Onewrite.on_timing { told << %i[everybody record] }
    http = session(tap_server, start: false) do |one|
      one.onewrite_listener = listener.new(:own, told)
      one.onewrite_timing = ->(_) { told << %i[own record] }
    end
    http.request(post("/", "x"))
    assert_equal %i[everybody own] * (told.size / 2), told.map(&:first)
    assert_equal %i[call_start call_start call_end call_end record record], (told.first(2) + told.last(4)).map(&:last)
  end

  def test_a_call_keeps_the_hooks_that_were_set_when_it_started
    told = []
    hook = Onewrite.on_timing { told << :early }
    http = session(tap_server do |_|
      hook.remove
      Onewrite.on_timing { told << :late }
      Tap::OK
    end)
    http.request(post("/", "x"))
    assert_equal [:early], told
  end

  def test_a_hook_that_raises_changes_nothing_and_is_warned_of_once
    out = ruby(<<~RUBY, env: { "PORT" => tap_server.port.to_s })
      require "onewrite"
      seen = 0
      Onewrite.on_timing { raise "bug" }
      Onewrite.on_timing { seen += 1 }
      Net::HTTP.start("127.0.0.1", ENV["PORT"].to_i) { |http| 3.times { http.get("/") } }
      puts "seen \#{seen}, errors \#{Onewrite.status[:hook_errors]}"
    RUBY
    assert_match(/seen 3, errors 3/, out)
    assert_equal 1, out.scan(/a hook raised RuntimeError/).size
  end

  # Without a hook a request allocates as many objects as with the timing patches bypassed.
  def test_without_a_hook_timing_allocates_nothing
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
    Onewrite.disable!
    stock = count.call
    Onewrite.enable!
    Onewrite.configure(hooks_disabled: true)
    with_switch = count.call
    Onewrite.configure(hooks_disabled: nil)
    without_hook = count.call
    assert_equal with_switch, without_hook
    # One write saves as many objects as holding the head costs; before 2.6 a write of the library allocated fewer.
    assert_operator without_hook, :<=, stock if Net.const_defined?(:WriteTimeout)
    Onewrite.on_timing { nil }
    assert_operator count.call, :>=, without_hook + 3, "the count sees the objects of timing"
  end

  # @return [Array<Integer>] how often the gem reads the clock and TCP_INFO for one request
  def asked(&request)
    lib = File.join(ROOT, "lib")
    counts = Hash.new(0)
    trace = TracePoint.new(:c_call) { |call| counts[call.method_id] += 1 if call.path.start_with?(lib) }
    trace.enable(&request)
    [counts[:clock_gettime], counts[:getsockopt]]
  end

  def test_a_timed_request_with_a_prompt_answer_reads_the_clock_five_times_and_no_tcp_info
    skip "the check of signatures calls in our name" if ENV["RBS_TEST_TARGET"]
    http = session(tap_server)
    http.request(post("/", "x"))
    untimed = mode(Array.new(5) { asked { http.request(post("/", "x")) } })
    assert_equal 0, untimed[1]
    records = records_of(http)
    timed = Array.new(30) { asked { http.request(post("/", "x")) } }
    timed = timed.zip(records).drop(1) # the first also looks at the counters before it
    assert_equal untimed[0] + 5, mode(timed.map { |counts, _| counts[0] })
    return unless Onewrite.status[:kernel_evidence]

    prompt, late = timed.partition { |_, record| record.wait_ns <= 1_000_000 }
    assert_equal 0, mode(prompt.map { |counts, _| counts[1] }) if prompt.size >= 5
    assert(late.all? { |counts, record| counts[1] >= 1 && record.kernel })
  end

  FULL = SizedQueue.new(1) << 0

  # Yields with a hook that blocks for good, of either kind.
  def with_blocking
    [-> { Onewrite.on_timing { FULL << 1 } },
     -> { Onewrite.add_listener(listener(:on_call_end) { |_| FULL << 1 }) }].each do |set|
      hook = set.call
      yield
      hook.remove
    end
  end

  def test_a_time_limit_ends_a_hook_that_blocks_and_reaches_the_caller_and_its_thread_can_be_killed
    http = session(tap_server)
    with_blocking do
      assert_raises(Timeout::Error) { Timeout.timeout(0.1) { http.request(post("/", "x")) } }
      thread = Thread.new { http.request(post("/", "x")) }
      wait_until { thread.stop? && FULL.num_waiting == 1 }
      assert thread.kill.join(10)
    end
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
    %w[on_timing listener].each do |kind|
      define_method("test_#{what} in #{kind} does not replace the answer") do
        http = session(tap_server)
        before = Onewrite.status[:hook_errors]
        set = kind == "on_timing" ? Onewrite.on_timing(&hook) : Onewrite.add_listener(listener { |event| hook.call(event) })
        answer = Timeout.timeout(30) { http.request(post("/", "x")).code }
        set.remove
        assert_equal "200", answer
        assert_operator Onewrite.status[:hook_errors], :>, before
        assert_equal "200", http.request(post("/", "x")).code
      end
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
    [nil, :call_start, :response_start, :call_end].each do |name|
      define_method("test_#{what} in #{name || "on_timing"} passes, and the session goes on") do
        http = session(tap_server)
        before = Onewrite.status[:hook_errors]
        set = name ? Onewrite.add_listener(listener("on_#{name}") { |event| hook.call(event) }) : Onewrite.on_timing(&hook)
        records = records_of(http)
        fiber = Fiber.new { catch(:answered) { http.request(post("/", "x")) } }
        seen = begin
          answer = fiber.resume
          fiber.alive? ? fiber.raise(SecurityError) : answer
        rescue Exception => e # rubocop:disable Lint/RescueException
          e.class
        end
        set.remove
        assert_includes [:stopped, Minitest::Assertion, NoMemoryError, SecurityError], seen
        assert_equal [before, true], [Onewrite.status[:hook_errors], name.nil? ? records.empty? : records.size == 1]
        assert_equal "200", http.request(post("/", "x")).code
      end
    end
  end

  # Not before the call has ended is its connection free. (A session of its own: the test after this one.)
  def test_a_listener_that_sends_on_the_session_that_is_timed_gets_an_error_and_the_timed_request_its_answer
    http = session(tap_server { |seen| "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n#{seen.line[%r{/(\w+)}, 1]}" })
    errors = []
    Onewrite::Event::NAMES.each do |name|
      one = listener("on_#{name}") { |_| (errors << begin; http.get("/metric"); rescue Onewrite::Error => e; e.class; end) }
      hook = Onewrite.add_listener(one)
      assert_equal "orderr", http.get("/orderr").body, name
      hook.remove
    end
    assert_equal [Onewrite::SessionInUseError], errors.uniq
    Onewrite.on_timing { |timing| timing.url.end_with?("orderr") && http.get("/metric") }
    assert_equal "orderr", http.get("/orderr").body
  end

  # Another thread, and a copy of the session, have the same connection.
  def test_a_listener_that_sends_on_the_connection_that_is_timed_in_another_thread_gets_an_error
    http = session(tap_server { |seen| "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n#{seen.line[%r{/(\w+)}, 1]}" })
    sends = [-> { http.get("/metric") }, -> { http.dup.get("/metric") }, -> { Fiber.new { http.get("/metric") }.resume }]
    errors = []
    http.onewrite_listener = listener do |_|
      sends.each { |one| Thread.new(&one).join }
    rescue Onewrite::SessionInUseError => e
      errors << e.class
    end
    assert_equal "orderr", http.get("/orderr").body
    assert_operator errors.size, :>, 8
  end

  def test_a_call_under_way_is_shown_without_secrets
    skip "signatures are those of a call that has ended" if ENV["RBS_TEST_TARGET"]
    http = session(tap_server)
    texts = []
    http.onewrite_timing = ->(_) {}
    http.request_get("/a?token=secret") do
      texts << Thread.current[:onewrite_call].inspect << Thread.current[:onewrite_call].to_h.to_s
    end
    assert_match(%r{GET http://127.0.0.1:\d+/a\?token=REDACTED 200>\z}, texts[0])
    refute_match(/=secret/, texts[1])
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

  # Two hooks that send requests get the records of each other's requests, and not of their own.
  def test_a_hook_that_sends_a_request_is_not_called_for_it
    tap = tap_server
    records = { "/a" => [], "/b" => [] }
    send = ->(path) { Net::HTTP.get(URI(tap.url(path))) }
    hooks = records.map do |path, mine|
      Onewrite.on_timing do |timing|
        mine << URI(timing.url).path
        send.call(path)
      end
    end
    send.call("/")
    assert_equal({ "/a" => ["/", "/b"], "/b" => ["/a", "/"] }, records)
    hooks.each(&:remove)
    calls = 0
    Onewrite.add_listener(listener(:on_response_start) { |_| (calls += 1) && send.call("/inner") })
    send.call("/")
    assert_equal 1, calls
  end

  def test_a_call_interrupted_at_any_moment_has_one_record_and_one_end
    events = []
    http = session(tap_server) { |one| one.onewrite_listener = listener { |event| events << event.name } }
    records = records_of(http)
    300.times do |index|
      events.clear
      records.clear
      begin
        Timeout.timeout(0.00001 * (index % 60)) { http.request(post("/", "x")) }
      rescue Timeout::Error
        nil
      end
      begun = events.count(:call_start)
      assert_equal [begun, begun], [events.count(:call_end), records.size]
      assert_includes [nil, :call_end], events.last
    end
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

  def test_the_request_after_a_hook_that_ended_the_first_one_is_sent
    http = session(tap_server, start: false)
    left = 1
    http.onewrite_listener = listener { |event| throw :out, :left if event.name == :call_start && (left -= 1) >= 0 }
    records = records_of(http)
    http.start
    assert_equal :left, catch(:out) { http.get("/").code }
    assert_equal "200", http.get("/").code
    assert_equal %i[cancelled ok], records.map(&:outcome)
  end

  def test_a_frozen_thread_gets_its_answer
    http = session(tap_server)
    Onewrite.on_timing { nil }
    assert_equal "200", Thread.new { Thread.current.freeze && http.request(post("/", "x")).code }.value
  end

  def test_hooks_disabled_later_ends_hooks_and_the_state_says_so
    http = session(tap_server)
    records = records_of(http)
    Onewrite.on_timing { |one| records << one }
    Onewrite.configure(hooks_disabled: true)
    http.request(post("/", "x"))
    assert_equal [[], 0], [records, Onewrite.status[:hooks]]
  end

  def test_hooks_that_threads_set_at_once_are_all_there
    go = Queue.new
    threads = Array.new(8) { Thread.new { go.pop || Onewrite.on_timing { nil } } }
    wait_until { go.num_waiting == 8 }
    go.close
    threads.each(&:join)
    assert_equal 8, Onewrite.status[:hooks]
  end

  # Each of these is called in a signal handler, where no lock may be taken.
  def test_switches_work_in_a_signal_handler
    out = ruby(<<~'RUBY')
      require "onewrite/opentelemetry"
      done = Queue.new
      hook = nil
      ways = [-> { Onewrite.enable! }, -> { hook = Onewrite.on_timing { nil } }, -> { Onewrite.add_listener(Onewrite::TimingListener.new) },
              -> { Onewrite.configure(quickack: true, observe: true) }, -> { Onewrite.status }, -> { hook.remove },
              -> { Net::HTTP.new("x").onewrite_timing = ->(_) {} }, -> { Onewrite::OpenTelemetry.remove }, -> { Onewrite.disable! }]
      trap("USR1") { done << (ways.shift.call; true) rescue done << $!.class }
      ways.size.times do
        Process.kill("USR1", Process.pid)
        puts done.pop
      end
    RUBY
    assert_equal ["true\n"] * 9, out.lines
  end
end
