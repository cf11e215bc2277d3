# frozen_string_literal: true

require_relative "support/helper"
require "io/wait"

# Records and events of calls: their content, their order, and what is absent.
class CallTest < OnewriteTest
  # Keeps every event.
  class Keeping < Onewrite::TimingListener
    attr_reader :events

    def initialize
      super
      @events = []
    end

    def on_event(event)
      @events << event
    end
  end

  LIVE = Onewrite.const_get(:Live)
  CONNECT_GRACE_NS = LIVE::CONNECT_GRACE_NS

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
    LIVE.send(:remove_const, :CONNECT_GRACE_NS)
    LIVE.const_set(:CONNECT_GRACE_NS, nanoseconds)
  end

  def timed(tap, **options)
    @records = []
    @listener = Keeping.new
    session(tap, **options) do |http|
      http.onewrite_timing = @records.method(:<<)
      http.onewrite_listener = @listener
      http.max_retries = 0 if http.respond_to?(:max_retries=)
      yield http if block_given?
    end
  end

  def names
    @listener.events.map(&:name)
  end

  FRESH = %i[
    call_start attempt_start connect_start connect_end connection_acquired request_start request_end
    response_start headers_end response_end connection_released attempt_end call_end
  ].freeze

  def test_a_fresh_connection_and_a_reused_one
    http = timed(tap_server)
    http.request(post("/a?b", "x" * 200))
    assert_equal FRESH, names
    @listener.events.clear
    http.request(post("/", "x"))
    assert_equal FRESH - %i[connect_start connect_end], names

    first, second = @records
    assert_equal ["POST", "http://127.0.0.1:#{http.port}/a?b", :ok, 200], [first.method, first.url, first.outcome, first.status]
    assert_equal [false, 1, true, 2], [first.reused, first.conn_requests, second.reused, second.conn_requests]
    assert_equal first.conn_id, second.conn_id
    assert_operator first.connect_ns, :>, 0
    assert_nil second.connect_ns
    assert_nil first.tls_ns
    assert_operator second.idle_ns, :>, 0
    assert_equal [1, 2], [first.writes, first.bytes_received]
    return unless Onewrite.kernel_evidence?

    assert_equal [false, 1], [first.kernel.nil?, first.kernel.segments_out] if first.wait_ns > LIVE::SOON_NS
  end

  # Where each answer takes longer than the time in which nothing is read, the kernel's counters are those of one request.
  def test_segments_are_those_of_one_request
    skip "no TCP_INFO" unless Onewrite.kernel_evidence?
    slow = false
    http = timed(tap_server do |_|
      sleep 0.003 if slow
      Tap::OK
    end)
    5.times { http.request(post("/", "x")) }
    slow = true
    11.times { http.request(post("/", "x")) }
    assert_equal 1, mode(@records.last(10).map { |one| one.kernel.segments_out })
  end

  # From net-http 0.5 on a request with a block is not retried once the block was called, so a listener must add no block.
  def test_a_listener_adds_no_block_to_the_request
    out = ruby(<<~'RUBY', env: { "PORT" => tap_server.port.to_s })
      require "net/http"
      Net::HTTP.prepend(Module.new { def transport_request(req, &block) p block.nil?; super; end })
      require "onewrite"
      names = []
      Onewrite.add_listener(Class.new(Onewrite::TimingListener) { define_method(:on_event) { |event| names << event.name } }.new)
      http = Net::HTTP.new("127.0.0.1", ENV["PORT"].to_i, nil)
      http.request(Net::HTTP::Get.new("/"))
      http.request(Net::HTTP::Head.new("/"))
      http.request_get("/") { |response| response.read_body }
      p names.count(:headers_end), names.each_cons(2).count { |two| two == %i[headers_end response_end] }
    RUBY
    assert_equal "true\ntrue\nfalse\n3\n3\n", out
  end

  def test_tls_is_a_phase_of_its_own
    tells_tls_apart
    http = timed(tap_server(tls: true))
    http.request(post("/", "x"))
    assert_equal FRESH.dup.insert(4, :tls_start, :tls_end), names
    assert_operator @records[0].tls_ns, :>, 0
    assert_operator @records[0].connect_ns, :>, 0
  end

  def test_events_are_in_order_and_phases_are_the_time_between_them
    http = timed(tap_server)
    3.times { http.request(post("/", "x")) }
    times = @listener.events.map(&:t_ns)
    assert_equal times.sort, times
    at = @listener.events.last(FRESH.size - 2).map { |event| [event.name, event.t_ns] }.to_h
    record = @records.last
    assert_equal at[:request_end] - at[:request_start], record.send_ns
    assert_equal at[:response_start] - at[:request_end], record.wait_ns
    assert_equal at[:response_end] - at[:response_start], record.receive_ns
    assert_equal at[:call_end] - at[:call_start], record.total_ns
  end

  def test_connecting_of_a_session_that_was_not_started_is_part_of_the_call
    tap = tap_server
    http = timed(tap, start: false)
    http.request(post("/", "x"))
    assert_equal FRESH, names
    assert_equal false, @listener.events.find { |event| event.name == :connection_released }[:reusable]
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

  def test_each_retry_is_an_attempt
    tap = tap_server { |seen| seen.connection == 1 ? :close : Tap::OK }
    http = timed(tap) { |one| one.max_retries = 1 if one.respond_to?(:max_retries=) }
    http.request(Net::HTTP::Get.new("/"))
    record = @records[0]
    assert_equal 1, @records.size
    assert_equal %i[error ok], record.attempts.map(&:outcome)
    assert_nil record.attempts[0].status
    assert_equal 200, record.status
    assert_equal 2, names.count(:attempt_start)
    assert_equal 2, names.count(:attempt_end)
    assert_equal 1, names.count(:call_end)
  end

  def test_errors_end_the_call_with_kind_and_phase
    silent = tap_server { |_, _| sleep 5 }
    http = timed(silent) { |one| one.read_timeout = 0.1 }
    assert_raises(Net::ReadTimeout) { http.request(post("/", "x")) }
    assert_equal %i[error timeout wait], [@records[0].outcome, @records[0].error_kind, @records[0].error_phase]
    assert_equal :call_end, names.last
    assert_operator @records[0].wait_ns, :>=, 90_000_000 # a phase that failed lasts to the end of its attempt
    assert_nil @records[0].receive_ns

    http = timed(tap_server { :close })
    assert_raises(EOFError) { http.request(post("/", "x")) }
    assert_equal %i[closed wait], [@records[0].error_kind, @records[0].error_phase]
  end

  def test_a_refused_connection_is_an_error_in_connect
    records = []
    http = Net::HTTP.new("127.0.0.1", refusing_port)
    http.onewrite_timing = records.method(:<<)
    assert_raises(Errno::ECONNREFUSED) { http.request(post("/", "x")) }
    assert_equal [%i[connect connect]], records.map { |one| [one.error_kind, one.error_phase] }
    assert_equal "", records[0].method
    assert_operator records[0].connect_ns, :>, 0
  end

  # Standard libraries before 2.3 connect TCP and TLS in one step.
  def tells_tls_apart
    skip "this net/http connects in one step" unless Net::Protocol.private_method_defined?(:ssl_socket_connect)
  end

  def test_an_untrusted_certificate_is_an_error_in_tls
    tells_tls_apart
    tap = tap_server(tls: true)
    records = []
    http = Net::HTTP.new("127.0.0.1", tap.port)
    http.use_ssl = true
    http.onewrite_timing = records.method(:<<)
    assert_raises(OpenSSL::SSL::SSLError) { http.get("/") }
    assert_equal %i[tls tls], [records[0].error_kind, records[0].error_phase]
    assert_operator records[0].connect_ns, :>, 0
  end

  def test_an_outer_timeout_cancels
    http = timed(tap_server { |_, _| sleep 5 })
    [0.3, 3, 30].each do |limit| # until it was long enough to send the request
      @listener.events.clear
      assert_raises(Timeout::Error) { Timeout.timeout(limit) { http.request(post("/", "x")) } }
      break if names.include?(:request_end)
    end
    record = @records.last
    assert_equal %i[cancelled cancelled wait], [record.outcome, record.error_kind, record.error_phase]
    assert_equal 1, names.count(:call_end)
  end

  def test_a_killed_thread_cancels
    http = timed(tap_server { |_, _| sleep 5 })
    thread = Thread.new { http.request(post("/", "x")) }
    sleep 0.01 until names.include?(:request_end)
    thread.kill.join
    assert_equal :cancelled, @records[0].outcome
  end

  def test_interim_responses_do_not_end_the_wait
    tap = tap_server do |_, socket|
      wait_until { names.last == :request_end } # the wait has begun
      socket.write("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n")
      sleep 0.05
      socket.write(Tap::OK)
    end
    http = timed(tap)
    response = http.request(post("/", "x"))
    assert_equal response.code.to_i, @records[0].status
    skip "this net/http takes a 103 for the answer" if response.code == "103"
    assert_operator @records[0].wait_ns, :>, 40_000_000
    assert_equal [103], @listener.events.select { |event| event.name == :informational }.map { |event| event[:status] }
  end

  # The counters read at 100 (Continue) do not cover the body.
  def test_the_kernel_counts_the_body_that_100_continue_asked_for
    skip "no TCP_INFO" unless Onewrite.kernel_evidence?
    tap = tap_server(expect: "HTTP/1.1 100 Continue\r\n\r\n") do |_|
      sleep 0.003
      Tap::OK
    end
    http = timed(tap) { |one| one.continue_timeout = 30 }
    20.times { http.request(post("/", "hello", "Content-Type" => "text/plain", "Expect" => "100-continue")) }
    assert_equal 2, mode(@records.map(&:writes))
    assert_equal 2, mode(@records.map { |record| record.kernel && record.kernel.segments_out })
  end

  # No such class of codes is defined; the library takes it for a final response.
  def test_a_status_below_100_is_a_final_response
    http = timed(tap_server { "HTTP/1.1 099 Odd\r\nContent-Length: 0\r\n\r\n" })
    http.request(post("/", "x"))
    refute_includes names, :informational
    assert_equal 99, @records[0].status
  end

  def test_response_start_is_the_first_byte
    http = nil
    client = Thread.current
    tap = tap_server do |_, socket|
      socket.write("HTTP/1.1")
      # The client has read it and waits for more.
      wait_until { !socket_of(http).instance_variable_get(:@rbuf).empty? && client.stop? }
      sleep 0.05
      socket.write(" 200 OK\r\nContent-Length: 0\r\n\r\n")
    end
    http = timed(tap)
    http.request(post("/", "x"))
    assert_operator @records[0].receive_ns || 0, :>, 40_000_000
  end

  def test_time_in_the_callers_block_is_not_part_of_receive
    http = timed(tap_server)
    read = nil
    http.request(post("/", "x")) do |response|
      response.read_body
      read = Onewrite.const_get(:Clock).now
      sleep 0.05
    end
    ended = @listener.events.find { |event| event.name == :response_end }
    assert_operator ended.t_ns, :<=, read
    assert_operator @records[0].total_ns, :>, @records[0].receive_ns + 40_000_000
  end

  def test_a_response_left_unread_is_ok_and_has_no_receive
    http = timed(tap_server { "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nabc" })
    catch(:enough) { http.request(post("/", "x")) { throw :enough } }
    assert_equal :ok, @records[0].outcome
    assert_nil @records[0].receive_ns
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

  def test_a_phase_that_failed_lasts_to_the_end_of_its_attempt
    http = timed(tap_server do |_, socket|
      socket.write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc")
      sleep 5
    end) { |one| one.read_timeout = 0.2 }
    assert_raises(Net::ReadTimeout) { http.request(post("/", "x")) }
    record = @records[0]
    assert_equal %i[timeout receive], [record.error_kind, record.error_phase]
    assert_operator record.receive_ns, :>=, 190_000_000
    assert_equal record.started_at_mono_ns + record.total_ns, @listener.events.last.t_ns
    assert_includes record.to_s, "error (timeout in receive)"

    skip "this net/http has no write_timeout" unless Net.const_defined?(:WriteTimeout)
    server = TCPServer.new("127.0.0.1", 0)
    @closing << -> { server.close }
    records = []
    http = Net::HTTP.new("127.0.0.1", server.addr[1])
    http.write_timeout = 0.2
    http.onewrite_timing = records.method(:<<)
    assert_raises(Net::WriteTimeout) { http.start { http.request(post("/", "x" * 20_000_000)) } }
    assert_equal [:timeout, :send, nil], [records[0].error_kind, records[0].error_phase, records[0].wait_ns]
    assert_operator records[0].send_ns, :>=, 190_000_000
  end

  def test_a_record_is_frozen_and_reads_well
    http = timed(tap_server)
    http.request(post("/", "x"))
    record = @records[0]
    assert record.frozen? && record.attempts.frozen? && record.attempts.all?(&:frozen?)
    assert_instance_of Onewrite::Timing, record
    assert_equal record.to_h, Marshal.load(Marshal.dump(record)).to_h # plain values alone
    text = record.to_s.gsub(/\d+\.\d\b/, "N").sub(/:\d+/, ":P").sub(/\d+\z/, "C")
    assert_match(%r{\APOST http://.* 200 in N ms: connect N, send N, wait N( \(server\))?, receive N; new conn C\z}, text)
    assert_equal record.wait_ns, record.to_h[:wait_ns]
    refute_includes record.to_h.values, nil
  end

  def test_a_stall_of_nagle_is_named
    skip "needs TCP_INFO" unless Onewrite.kernel_evidence?

    records = []
    Onewrite.configure(coalesce_disabled: true)
    http = session(tap_server) do |one|
      one.onewrite_nodelay = false
      one.onewrite_timing = records.method(:<<)
    end
    20.times { http.request(post("/", "x" * 200)) }
    stalled = records.select { |one| one.wait_ns > 30_000_000 }
    skip "this machine does not delay acknowledgements" if stalled.size < 5
    assert_equal :nagle_delayed_ack, mode(stalled.map(&:cause))
    named = stalled.select { |one| one.cause == :nagle_delayed_ack }
    assert(named.all? { |one| one.kernel.send_hold_ns > 20_000_000 })
    assert_equal 2, mode(named.map { |one| one.kernel.segments_out })

    Onewrite.configure(coalesce_disabled: nil)
    records.clear
    10.times { http.request(post("/", "x" * 200)) }
    refute_includes records.map(&:cause), :nagle_delayed_ack
  end

  SO_MAX_PACING_RATE = 47 # socket(7); Ruby has no name for it

  # Two writes, TCP_NODELAY on, and pacing: the kernel holds bytes, but not because of Nagle's algorithm.
  def test_a_hold_by_pacing_is_not_called_nagle
    skip "needs TCP_INFO" unless Onewrite.kernel_evidence?

    Onewrite.configure(coalesce_disabled: true)
    http = timed(tap_server)
    socket_of(http).io.setsockopt(Socket::SOL_SOCKET, SO_MAX_PACING_RATE, [4_000_000].pack("L"))
    5.times { http.request(post("/", "x" * 400_000)) }
    held = @records.select { |one| one.wait_ns >= 20_000_000 && one.kernel.send_hold_ns >= 20_000_000 }
    skip "this kernel does not pace" if held.empty?
    assert(held.all? { |one| one.writes > 1 })
    refute_includes held.map(&:cause), :nagle_delayed_ack
  end

  def test_a_wait_for_a_slow_server_is_named
    skip "needs TCP_INFO" unless Onewrite.kernel_evidence?

    http = timed(tap_server do |_|
      wait_until { names.last == :request_end }
      sleep 0.05
      Tap::OK
    end)
    http.request(post("/", "x"))
    assert_equal :server, @records[0].cause
  end
end
