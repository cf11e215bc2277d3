# frozen_string_literal: true

require_relative "support/helper"

# Records and events of calls: their content, their order, and what is absent.
class CallTest < OnewriteTest
  CONNECT_GRACE_NS = Onewrite::Timing::CONNECT_GRACE_NS

  # On a busy machine the first request may begin too late for the times of connecting to be counted as its part.
  def setup
    super
    connect_grace(LIMIT * 1_000_000_000)
  end

  def teardown
    connect_grace(CONNECT_GRACE_NS)
    super
  end

  def connect_grace(nanoseconds)
    Onewrite::Timing.send(:remove_const, :CONNECT_GRACE_NS)
    Onewrite::Timing.const_set(:CONNECT_GRACE_NS, nanoseconds)
  end

  def timed(tap, **options)
    session(tap, **options) do |http|
      @records = records_of(http)
      @events = events = []
      http.onewrite_listener = listener { |event| events << event }
      yield http if block_given?
    end
  end

  def names
    @events.map(&:name)
  end

  FRESH = %i[
    call_start attempt_start connect_start connect_end connection_acquired request_start request_end
    response_start headers_end response_end connection_released attempt_end call_end
  ].freeze

  [false, true].each do |tls|
    define_method("test_a fresh connection and a reused one over #{tls ? "TLS" : "TCP"}") do
      # Standard libraries before 2.3 connect TCP and TLS in one step.
      apart = tls && Net::Protocol.private_method_defined?(:ssl_socket_connect)
      tap = tap_server(tls: tls)
      http = timed(tap)
      http.request(post("/a?b", "x" * 200))
      assert_equal apart ? FRESH.dup.insert(4, :tls_start, :tls_end) : FRESH, names
      @events.clear
      http.request(post("/", "x"))
      assert_equal FRESH - %i[connect_start connect_end], names

      first, second = @records
      assert_equal ["POST", tap.url("/a?b"), :ok, 200], [first.method, first.url, first.outcome, first.status]
      assert_equal [false, 1, true, 2], [first.reused, first.conn_requests, second.reused, second.conn_requests]
      assert_equal first.conn_id, second.conn_id
      assert_operator first.connect_ns, :>, 0
      assert_equal [nil, apart], [second.connect_ns, !first.tls_ns.nil?]
      assert_operator second.idle_ns, :>, 0
      assert_equal [1, 2], [first.writes, first.bytes_received]
    end
  end

  # From net-http 0.5 on a request with a block is not retried once the block was called, so a listener must add no block.
  def test_a_listener_adds_no_block_to_the_request
    out = ruby(<<~'RUBY', env: { "PORT" => tap_server.port.to_s })
      require "net/http"
      Net::HTTP.prepend(Module.new { def transport_request(req, &block) p block.nil?; super; end })
      require "onewrite"
      names = []
      listener = Onewrite::TimingListener.new
      listener.define_singleton_method(:on_event) { |event| names << event.name }
      Onewrite.add_listener(listener)
      http = Net::HTTP.new("127.0.0.1", ENV["PORT"].to_i, nil)
      http.request(Net::HTTP::Get.new("/"))
      http.request(Net::HTTP::Head.new("/"))
      http.request_get("/") { |response| response.read_body }
      p names.count(:headers_end), names.each_cons(2).count { |two| two == %i[headers_end response_end] }
    RUBY
    assert_equal "true\ntrue\nfalse\n3\n3\n", out
  end

  def test_connecting_of_a_session_that_was_not_started_is_part_of_the_call
    timed(tap_server, start: false).request(post("/", "x"))
    assert_equal FRESH, names
    assert_equal false, @events.find { |event| event.name == :connection_released }[:reusable]
  end

  def test_connecting_long_before_the_first_request_is_no_part_of_the_call
    connect_grace(CONNECT_GRACE_NS)
    http = timed(tap_server)
    sleep 0.15
    before = Onewrite.const_get(:Clock).now
    http.request(post("/", "x"))
    assert_nil @records[0].connect_ns
    assert_equal false, @records[0].reused
    assert_operator @records[0].started_at_mono_ns, :>=, before
  end

  def test_a_killed_thread_cancels
    http = timed(tap_server { |_, _| sleep 5 })
    thread = Thread.new { http.request(post("/", "x")) }
    sleep 0.01 until names.include?(:request_end)
    thread.kill.join
    assert_equal :cancelled, @records[0].outcome
  end

  # The counters read at 100 (Continue) do not cover the body.
  def test_the_kernel_counts_the_body_that_100_continue_asked_for
    skip "no TCP_INFO" unless Onewrite.status[:kernel_evidence]
    tap = tap_server(expect: "HTTP/1.1 100 Continue\r\n\r\n") do |_|
      sleep 0.003
      Tap::OK
    end
    http = timed(tap) { |one| one.continue_timeout = 30 }
    20.times { http.request(post("/", "hello", "Content-Type" => "text/plain", "Expect" => "100-continue")) }
    assert_equal 2, mode(@records.map(&:writes))
    assert_equal 2, mode(@records.map { |record| record.kernel && record.kernel.segments_out })
  end

  # Net::HTTP before 2.3 takes a 103 for the answer, and each takes a status below 100 for one.
  { "103" => "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n#{Tap::OK}",
    "099" => "HTTP/1.1 099 Odd\r\nContent-Length: 0\r\n\r\n" }.each do |code, answer|
    define_method("test_a response #{code} has the status that the library takes") do
      response = timed(tap_server { answer }).request(post("/", "x"))
      assert_equal response.code.to_i, @records[0].status
      assert_equal code == "103", names.include?(:informational)
    end
  end

  def test_time_in_the_callers_block_is_not_part_of_receive
    http = timed(tap_server)
    read = nil
    http.request(post("/", "x")) do |response|
      response.read_body
      read = Onewrite.const_get(:Clock).now
      sleep 0.05
    end
    ended = @events.find { |event| event.name == :response_end }
    assert_operator ended.t_ns, :<=, read
    assert_operator @records[0].total_ns, :>, @records[0].receive_ns + 40_000_000
  end

  def test_an_answer_without_a_body_ends_with_its_head
    heads = ["204 No Content\r\n", "304 Not Modified\r\nContent-Length: 9\r\n", "200 OK\r\nContent-Length: 0\r\n"]
    http = timed(tap_server { |seen| "HTTP/1.1 #{heads[seen.line[/\d/].to_i]}\r\n" })
    heads.each_index { |at| http.request_get("/#{at}") { |response| sleep(0.05) && response.read_body } }
    http.request_head("/2") { sleep 0.05 }
    assert_equal 4, @records.size
    @records.each { |record| assert_operator record.receive_ns, :<, 40_000_000, record.to_s }
  end

  def test_a_connection_whose_answer_has_no_body_is_kept_when_the_block_is_left
    tap = tap_server { "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n" }
    http = session(tap)
    3.times { http.request_get("/") { break } }
    assert_equal 1, tap.connections
  end

  # Whatever the library refuses before a byte is sent.
  { "a line break in the path" => [ArgumentError, ->(_) { Net::HTTP::Get.new("/a\r\nb") }],
    "a stream without a length" => [ArgumentError, ->(t) { t.post.tap { |one| one.body_stream = StringIO.new("x") } }],
    "a frozen header" => [FrozenError, ->(t) { t.post("/", "x").tap { |one| one.instance_variable_get(:@header).freeze } }] }
    .each do |what, (error, make)|
    define_method("test_#{what} is refused by the library and gives a record") do
      http = timed(tap_server)
      begin
        http.request(make.call(self))
        skip "this net/http sends it"
      rescue ArgumentError, RuntimeError => e
        assert_kind_of error, e
      end
      record = @records[0]
      assert_equal [1, :error, :other, nil], [@records.size, record.outcome, record.error_kind, record.error_phase]
      assert_equal [0, nil, nil, nil], [record.attempts[0].index, record.send_ns, record.wait_ns, record.receive_ns]
      assert_equal [1, 1, :call_end], [names.count(:attempt_start), names.count(:attempt_end), names.last]
    end
  end

  # As for a queue to another process.
  def test_a_record_and_its_events_are_frozen_and_can_be_marshalled
    timed(tap_server).request(post("/", "x"))
    kept = @events + @records
    assert((kept + @records[0].attempts).all?(&:frozen?))
    assert_predicate @records[0].attempts, :frozen?
    assert_equal kept.map(&:to_h), Marshal.load(Marshal.dump(kept)).map(&:to_h)
    refute_includes @records[0].to_h.values, nil
  end

  def test_a_stall_of_nagle_is_named
    skip "needs TCP_INFO" unless Onewrite.status[:kernel_evidence]

    Onewrite.configure(coalesce_disabled: true)
    http = timed(tap_server) { |one| one.onewrite_nodelay = false }
    20.times { http.request(post("/", "x" * 200)) }
    stalled = @records.select { |one| one.wait_ns > 30_000_000 }
    skip "this machine does not delay acknowledgements" if stalled.size < 5
    assert_equal :nagle_delayed_ack, mode(stalled.map(&:cause))
    named = stalled.select { |one| one.cause == :nagle_delayed_ack }
    assert(named.all? { |one| one.kernel.send_hold_ns > 20_000_000 })
    assert_equal 2, mode(named.map { |one| one.kernel.segments_out })

    Onewrite.configure(coalesce_disabled: nil)
    @records.clear
    10.times { http.request(post("/", "x" * 200)) }
    refute_includes @records.map(&:cause), :nagle_delayed_ack
  end

  SO_MAX_PACING_RATE = 47 # socket(7); Ruby has no name for it

  # Two writes, TCP_NODELAY on, and pacing: the kernel holds bytes, but not because of Nagle's algorithm.
  def test_a_hold_by_pacing_is_not_called_nagle
    skip "needs TCP_INFO" unless Onewrite.status[:kernel_evidence]

    Onewrite.configure(coalesce_disabled: true)
    http = timed(tap_server)
    socket_of(http).io.setsockopt(Socket::SOL_SOCKET, SO_MAX_PACING_RATE, [4_000_000].pack("L"))
    5.times { http.request(post("/", "x" * 400_000)) }
    held = @records.select { |one| one.wait_ns >= 20_000_000 && one.kernel.send_hold_ns >= 20_000_000 }
    skip "this kernel does not pace" if held.empty?
    assert(held.all? { |one| one.writes > 1 })
    refute_includes held.map(&:cause), :nagle_delayed_ack
  end
end
