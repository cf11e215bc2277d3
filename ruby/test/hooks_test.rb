# frozen_string_literal: true

require_relative "support/helper"
require "minitest/mock"
require_relative "../bench/origin"

# Setting and removing hooks, errors in hooks, and that without a hook timing costs nothing.
class HooksTest < OnewriteTest
  def test_a_global_block_gets_each_call_until_it_is_removed
    http = session(tap_server)
    records = []
    hook = Onewrite.on_timing { |timing| records << timing }
    http.request(post("/", "x"))
    assert hook.remove
    http.request(post("/", "x"))
    assert_equal 1, records.size
    refute hook.remove
    assert_equal 0, Onewrite.status[:hooks]
  end

  def test_a_global_listener_gets_events_and_named_methods
    seen = []
    listener = Class.new(Onewrite::TimingListener) { define_method(:on_response_start) { |event| seen << event.name } }.new
    hook = Onewrite.add_listener(listener)
    session(tap_server).request(post("/", "x"))
    assert_equal [:response_start], seen
  ensure
    hook.remove
  end

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
  ensure
    [first, second].each(&:remove)
  end

  def test_a_listener_must_answer_on_event
    skip "the signatures refuse it before" if ENV["RBS_TEST_TARGET"]
    assert_raises(ArgumentError) { Onewrite.add_listener(Object.new) }
    assert_raises(ArgumentError) { Onewrite.on_timing }
  end

  # A Struct has to_a, so a splat would expand it.
  def test_a_listener_of_a_session_may_be_a_struct_and_global_ones_come_first
    listener = Struct.new(:who, :told) { define_method(:on_event) { |event| told << [who, event.name] } }
    told = []
    everybodys = Onewrite.add_listener(listener.new(:everybody, told))
    block = Onewrite.on_timing { told << %i[everybody record] }
    http = session(tap_server, start: false) do |one|
      one.onewrite_listener = listener.new(:own, told)
      one.onewrite_timing = ->(_) { told << %i[own record] }
    end
    http.request(post("/", "x"))
    assert_equal %i[everybody own] * (told.size / 2), told.map(&:first)
    assert_equal %i[call_start call_start call_end call_end record record], (told.first(2) + told.last(4)).map(&:last)
  ensure
    [everybodys, block].compact.each(&:remove)
  end

  def test_a_call_keeps_the_hooks_that_were_set_when_it_started
    late = []
    early = []
    hook = nil
    http = session(tap_server do |_|
      hook.remove
      Onewrite.on_timing { |timing| late << timing }
      Tap::OK
    end)
    hook = Onewrite.on_timing { |timing| early << timing }
    http.request(post("/", "x"))
    assert_equal [1, 0], [early.size, late.size]
  ensure
    Onewrite.const_get(:Hooks).current.hooks.each(&:remove)
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

  def test_hooks_disabled_switches_all_hooks_off
    records = []
    hook = Onewrite.on_timing { |timing| records << timing }
    http = session(tap_server)
    Onewrite.configure(hooks_disabled: true)
    http.request(post("/", "x"))
    assert_empty records
  ensure
    hook.remove
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
    hook = Onewrite.on_timing { nil }
    assert_operator count.call, :>=, without_hook + 3, "the count sees the objects of timing"
  ensure
    hook.remove if hook
  end

  def test_without_a_hook_neither_clock_nor_tcp_info_is_read
    http = session(tap_server)
    http.request(post("/", "x"))
    fail_on_call = ->(*) { flunk "asked" }
    Onewrite.const_get(:Clock).stub(:now, fail_on_call) do
      Onewrite.const_get(:TcpInfo).stub(:read, fail_on_call) { http.request(post("/", "x")) }
    end
  end

  # @return [Array<Integer>] how often the gem reads the clock and TCP_INFO for one request
  def asked(&request)
    lib = File.join(ROOT, "lib")
    counts = Hash.new(0)
    trace = TracePoint.new(:c_call) { |call| counts[call.method_id] += 1 if call.path.start_with?(lib) }
    trace.enable(&request)
    [counts[:clock_gettime], counts[:getsockopt]]
  end

  def test_a_timed_request_with_a_prompt_answer_reads_the_clock_seven_times_and_tcp_info_once
    skip "the check of signatures calls in our name" if ENV["RBS_TEST_TARGET"]
    records = []
    http = session(tap_server)
    http.request(post("/", "x"))
    untimed = mode(Array.new(5) { asked { http.request(post("/", "x")) } })
    assert_equal 0, untimed[1]
    http.onewrite_timing = records.method(:<<)
    timed = Array.new(30) { asked { http.request(post("/", "x")) } }
    timed = timed.zip(records).drop(1) # the first also looks at the counters before it
    assert_equal untimed[0] + 7, mode(timed.map { |counts, _| counts[0] })
    return unless Onewrite.kernel_evidence?

    prompt, late = timed.partition { |_, record| record.wait_ns < 1_000_000 }
    assert_equal 1, mode(prompt.map { |counts, _| counts[1] }) if prompt.size >= 5
    assert(late.all? { |counts, _| counts[1] >= 2 })
    assert(records.all?(&:kernel))
  end

  # An error as Timeout.timeout(1, Late) or Thread#raise raise it.
  class Late < StandardError; end

  # Raises Late in the caller's thread and waits until it may have arrived.
  def late
    caller = Thread.current
    Thread.new { caller.raise(Late) }.join
    sleep 0.01
  end

  def test_an_error_raised_by_another_thread_during_a_hook_reaches_the_caller
    errors = Onewrite.status[:hook_errors]
    records = []
    http = session(tap_server) { |one| one.onewrite_timing = records.method(:<<) }
    hook = Onewrite.on_timing { late }
    assert_raises(Late) { http.request(post("/", "x")) }
    assert_equal [:ok], records.map(&:outcome)
    hook.remove
    assert_equal "200", http.request(post("/", "x")).code
    assert_equal [2, errors], [records.size, Onewrite.status[:hook_errors]]
  ensure
    hook.remove
  end

  def test_an_error_raised_by_another_thread_during_a_listener_reaches_the_caller
    %i[call_start request_end call_end].each do |moment|
      errors = Onewrite.status[:hook_errors]
      events = []
      records = []
      listener = Object.new
      test = self
      listener.define_singleton_method(:on_event) do |event|
        events << event.name
        test.late if event.name == moment
      end
      http = session(tap_server) { |one| one.onewrite_listener = listener }
      http.onewrite_timing = records.method(:<<)
      assert_raises(Late) { http.request(post("/", "x")) }
      assert_equal [1, 1, :call_end], [events.count(:call_start), events.count(:call_end), events.last], moment.to_s
      assert_equal [moment == :call_end ? :ok : :error], records.map(&:outcome)
      assert_equal errors, Onewrite.status[:hook_errors]
    end
  end

  def test_a_call_interrupted_at_any_moment_has_one_record_and_one_end
    events = []
    records = []
    listener = Object.new
    listener.define_singleton_method(:on_event) { |event| events << event.name }
    http = session(tap_server) { |one| one.onewrite_listener = listener }
    http.onewrite_timing = records.method(:<<)
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

  # As for a queue to another process.
  def test_a_record_can_be_marshalled_also_with_listeners
    record = nil
    http = session(tap_server) do |one|
      one.onewrite_timing = ->(timing) { record = timing }
      one.onewrite_listener = Onewrite::TimingListener.new
    end
    http.request(post("/", "x"))
    assert_equal record.to_h, Marshal.load(Marshal.dump(record)).to_h
  end

  # The timing patches are installed one after another; a second thread must wait for the last one.
  def test_two_threads_that_set_the_first_hook_at_once
    out = ruby(<<~'RUBY', env: { "PORT" => tap_server.port.to_s })
      require "onewrite"
      patching = Queue.new
      go = Queue.new
      Onewrite.const_get(:NetHTTP)::TimedSession.define_singleton_method(:included) { |_| (patching << true) && go.pop }
      first = Thread.new { Onewrite.on_timing { nil } }
      patching.pop
      writes = Queue.new
      second = Thread.new do
        http = Net::HTTP.new("127.0.0.1", ENV["PORT"].to_i, nil)
        http.onewrite_timing = ->(timing) { writes << timing.writes }
        http.get("/")
      end
      Thread.pass until second.stop?
      go << true
      [first, second].each(&:join)
      p writes.pop
    RUBY
    assert_equal "1\n", out
  end

  def test_swapping_hooks_while_calls_run
    tap = tap_server
    counts = Queue.new
    runners = Array.new(3) do
      Thread.new do
        http = session(tap)
        50.times { http.request(post("/", "x")) }
      end
    end
    hooks = Array.new(50) { Onewrite.on_timing { |timing| counts << timing } }
    hooks.each(&:remove)
    runners.each(&:join)
    assert_nil Onewrite.const_get(:Hooks).current
  end
end
