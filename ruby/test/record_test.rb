# frozen_string_literal: true

require_relative "support/helper"
require_relative "../bench/origin"

# Records of requests: their content, the order of their events, and what is absent.
class RecordTest < OnewriteTest
  FRESH = %i[connect_start connect_end connection_acquired request_start request_end response_start headers_end response_end
             connection_released].freeze

  def timed(tap, **options)
    session(tap, **options) do |http|
      @records = records_of(http)
      yield http if block_given?
    end
  end

  def names(record = @records.last)
    record.events.map(&:first)
  end

  [false, true].each do |tls|
    define_method("test_a fresh connection and a reused one over #{tls ? "TLS" : "TCP"}") do
      # Standard libraries before 2.3 connect TCP and TLS in one step.
      apart = tls && Net::Protocol.private_method_defined?(:ssl_socket_connect)
      tap = tap_server(tls: tls)
      http = timed(tap)
      http.request(post("/a?b#c", "x" * 200))
      assert_equal apart ? FRESH.dup.insert(2, :tls_start, :tls_end) : FRESH, names
      http.request(post("/", "x"))
      assert_equal FRESH - %i[connect_start connect_end], names

      first, second = @records
      assert_equal ["POST", tap.url("/a"), :ok, 200], [first.http_method, first.url, first.outcome, first.status]
      assert_equal [false, 1, true, 2], [first.reused, first.conn_requests, second.reused, second.conn_requests]
      assert_equal first.conn_id, second.conn_id
      assert_operator first.connect_ns, :>, 0
      assert_equal [nil, apart], [second.connect_ns, !first.tls_ns.nil?]
      assert_equal [nil, nil], [first.idle_ns, first.resend]
      assert_operator second.idle_ns, :>, 0
      assert_equal [1, 2], [first.writes, first.bytes_received]
      assert_operator first.bytes_sent, :>, 200
      @records.each { |one| assert_equal one.events, one.events.sort_by.with_index { |(_, time), at| [time, at] } }
    end
  end

  # Which is Object's, and takes a name.
  def test_method_stays_that_of_object
    timed(tap_server).get("/")
    assert_equal %w[GET GET], [@records[0].method(:http_method).call, @records[0].to_h[:method]]
  end

  def test_connecting_of_a_session_that_was_not_started_is_part_of_the_request
    timed(tap_server, start: false).request(post("/", "x"))
    assert_equal FRESH, names
  end

  def test_what_the_program_does_after_start_is_no_part_of_the_request
    [false, true].each do |tls|
      http = timed(tap_server(tls: tls))
      sleep 0.2
      before = Onewrite.const_get(:Clock).now
      http.get("/")
      ended = Onewrite.const_get(:Clock).now
      one = @records[0]
      assert_operator one.total_ns, :<, ended - before + one.connect_ns + one.tls_ns.to_i + 100_000_000
      assert_operator one.connect_ns, :>, 0
      assert_equal one.total_ns, one.events.last[1] - one.started_at_mono_ns
    end
  end

  # The wall clock may be set.
  def test_the_wall_clock_is_read_for_each_record
    http = timed(tap_server)
    2.times { http.get("/") && sleep(0.01) }
    wall = @records.map(&:started_at_unix_ns)
    mono = @records.map(&:started_at_mono_ns)
    assert_in_delta wall[1] - wall[0], mono[1] - mono[0], 5_000_000
    assert_in_delta Time.now.to_f, wall[1] / 1e9, 20
  end

  def test_idle_counts_from_the_last_request_timed_or_not
    http = timed(tap_server)
    hook = http.onewrite_timing
    http.get("/")
    http.onewrite_timing = nil
    sleep 0.1
    http.get("/")
    http.onewrite_timing = hook
    between = Onewrite.const_get(:Clock).now
    http.get("/")
    assert_operator @records.last.idle_ns, :<, @records.last.started_at_mono_ns - between + 50_000_000
    assert_equal [1, 3], @records.map(&:conn_requests)
  end

  def test_a_hook_that_is_set_late_sees_a_connection_as_reused
    http = session(tap_server)
    http.get("/")
    records = records_of(http)
    http.get("/")
    assert_equal [true, nil], [records[0].reused, records[0].connect_ns]
  end

  def test_a_killed_thread_cancels
    sent = Queue.new
    http = timed(tap_server { |_, _| (sent << 1) && sleep(5) })
    thread = Thread.new { http.request(post("/", "x")) }
    sent.pop
    thread.kill.join
    assert_equal %i[cancelled wait], [@records[0].outcome, @records[0].error_phase]
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

  # Net::HTTP before 2.3 takes a 103 for the answer.
  def test_an_interim_answer_does_not_end_the_wait
    answer = lambda do |_, socket|
      socket.write("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n")
      sleep 0.1
      Tap::OK
    end
    response = timed(tap_server(&answer)).request(post("/", "x"))
    skip "this net/http takes it for the answer" unless response.code == "200"
    assert_equal 200, @records[0].status
    assert_operator @records[0].wait_ns, :>, 90_000_000
  end

  def test_an_interim_answer_that_comes_with_the_final_one
    response = timed(tap_server { "HTTP/1.1 103 Early Hints\r\n\r\n#{Tap::OK}" }).request(post("/", "x"))
    skip "this net/http takes it for the answer" unless response.code == "200"
    assert_operator @records[0].wait_ns, :>, 0
  end

  def test_time_in_the_programs_block_is_in_the_total_alone
    http = timed(tap_server)
    read = nil
    http.request(post("/", "x")) do |response|
      response.read_body
      read = Onewrite.const_get(:Clock).now
      sleep 0.05
    end
    assert_operator @records[0].events.assoc(:response_end)[1], :<=, read
    assert_operator @records[0].total_ns, :>, @records[0].receive_ns + 40_000_000
  end

  def test_an_answer_without_a_body_ends_with_its_head
    heads = ["204 No Content\r\n", "304 Not Modified\r\nContent-Length: 9\r\n", "200 OK\r\nContent-Length: 0\r\n"]
    http = timed(tap_server { |seen| "HTTP/1.1 #{heads[seen.line[/\d/].to_i]}\r\n" })
    called = []
    heads.each_index do |at|
      http.request_get("/#{at}") { |response| (called << Onewrite.const_get(:Clock).now) && response.read_body }
    end
    assert_equal [0] * 3, @records.map(&:bytes_received)
    @records.zip(called) { |record, time| assert_operator record.events.assoc(:response_end)[1], :<=, time }
  end

  # What was read from the connection, whatever was announced.
  { "a body with a length" => ["Content-Length: 5\r\n\r\nhello", 5],
    "chunks" => ["Transfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n", 5],
    "a body that is too short" => ["Content-Length: 1000\r\nConnection: close\r\n\r\nabc", 3],
    "a body without a length" => ["Connection: close\r\n\r\nhello", 5],
    "a compressed body" => ["Content-Encoding: gzip\r\nContent-Length: 25\r\n\r\n" \
                            "\x1F\x8B\b\x00\x00\x00\x00\x00\x00\x03\xCBH\xCD\xC9\xC9\a\x00\x86\xA6\x106\x05\x00\x00\x00".b, 25] }
    .each do |what, (rest, bytes)|
    define_method("test_bytes_received of #{what}") do
      http = timed(tap_server { |_, socket| socket.write("HTTP/1.1 200 OK\r\n".b + rest.b) && :close })
      http.request(Net::HTTP::Get.new("/"))
      assert_equal [:ok, bytes], [@records[0].outcome, @records[0].bytes_received]
    end
  end

  # In the block that reads.
  def test_an_error_while_the_body_is_read_is_the_records
    cut = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel"
    http = timed(tap_server { |_, socket| socket.write(cut) && :close })
    assert_raises(EOFError) { http.request_post("/", "x") { |response| response.read_body { nil } } }
    one = @records[0]
    assert_equal [:error, :closed, :receive, 200, 3],
                 [one.outcome, one.error_kind, one.error_phase, one.status, one.bytes_received]
  end

  def test_a_limit_while_the_body_is_read_is_the_records
    http = timed(tap_server { |_, socket| socket.write("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc") && sleep(5) })
    read = ->(_limit) { http.request_post("/", "x") { |response| response.read_body { nil } } }
    assert_raises(Timeout::Error) { Timeout.timeout(0.1, &read) }
    assert_equal %i[cancelled receive], [@records[0].outcome, @records[0].error_phase]
    http.finish
    http.start.read_timeout = 0.1
    assert_raises(Timeout::Error) { http.request_post("/", "x", &:read_body) }
    assert_equal %i[error timeout receive], [@records[1].outcome, @records[1].error_kind, @records[1].error_phase]
  end

  def test_a_block_that_does_not_want_the_body
    big = "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n#{"x" * 100_000}"
    http = timed(tap_server { big })
    http.request_get("/") { break }
    assert_equal [:ok, nil, 200], [@records[0].outcome, @records[0].receive_ns, @records[0].status]
    assert_includes names, :headers_end
    assert_raises(KeyError) { http.request_get("/") { raise KeyError } }
    assert_equal %i[error other receive], [@records[1].outcome, @records[1].error_kind, @records[1].error_phase]
    assert_equal 2, @records.size
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
      one = @records[0]
      assert_equal [1, :error, :other, nil], [@records.size, one.outcome, one.error_kind, one.error_phase]
      assert_equal [nil] * 4, [one.send_ns, one.wait_ns, one.receive_ns, one.bytes_sent]
    end
  end

  # As for a queue to another process.
  def test_a_record_is_frozen_and_can_be_marshalled
    timed(tap_server).request(post("/", "x"))
    one = @records[0]
    assert_predicate one, :frozen?
    assert_equal one.to_h, Marshal.load(Marshal.dump(one)).to_h
    refute_includes one.to_h.values, nil
  end

  # A repetition by the library is a request that is sent.
  def test_each_repetition_has_a_record
    skip "this net/http repeats once" unless Net::HTTP.method_defined?(:max_retries=)
    requests = 0
    tap = tap_server { (requests += 1) < 3 ? :close : Tap::OK }
    http = timed(tap) { |one| one.max_retries = 2 }
    2.times { http.get("/") }
    assert_equal [[:error, nil], [:error, 1], [:ok, 2], [:ok, nil]], @records.map { |one| [one.outcome, one.resend] }
    assert_equal [1, 2, 3, 3], tap.seen.map(&:connection)
    assert_equal 3, @records.map(&:conn_id).uniq.size
  end

  def test_a_connection_that_is_refused_later_has_method_and_path
    tap = tap_server { |_, socket| socket.write("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n") && :close }
    http = timed(tap)
    http.get("/")
    tap.close
    assert_raises(SystemCallError) { http.get("/more?a=b") }
    one = @records.last
    assert_equal ["GET", tap.url("/more"), :error, :connect, :connect],
                 [one.http_method, one.url, one.outcome, one.error_kind, one.error_phase]
  end

  # A session that was not started has no request yet when it connects.
  def test_the_record_of_a_start_that_is_refused_has_no_method_and_the_url_of_the_session
    http = Net::HTTP.new("127.0.0.1", refusing_port, nil)
    records = records_of(http)
    [false, true].each do |tls|
      http.use_ssl = tls
      assert_raises(Errno::ECONNREFUSED) { http.get("/") }
    end
    assert_equal [["", "http"], ["", "https"]], records.map { |one| [one.http_method, URI(one.url).scheme] }
  end

  # Threads of the program hold the interpreter's lock: the answer is here, and nobody reads it.
  def test_a_busy_client_is_not_called_the_server
    skip "needs TCP_INFO" unless Onewrite.status[:kernel_evidence]
    port, pid = Origin.start(0)
    @closing << -> { Process.kill(:KILL, pid) && Process.wait(pid) }
    http = Net::HTTP.start("127.0.0.1", port)
    records = records_of(http)
    busy = Array.new(2) { Thread.new { loop { 1 + 1 } } }
    http.request(post("/", "x")) until records.count { |one| one.wait_ns >= 20_000_000 } >= 10
    causes = records.map(&:cause).compact
    assert_equal :client, mode(causes)
    assert_operator causes.count(:server), :<=, causes.size / 5 # a server may itself have had no CPU
  ensure
    busy.to_a.each(&:kill)
    http.finish if http
  end

  def test_a_slow_server_is_called_so
    skip "needs TCP_INFO" unless Onewrite.status[:kernel_evidence]
    http = timed(tap_server { sleep(0.05) && Tap::OK })
    5.times { http.request(post("/", "x")) }
    assert_equal :server, mode(@records.map(&:cause))
  end

  # A subclass that turns Nagle's algorithm on, and two writes.
  def test_a_stall_of_nagle_is_named
    skip "needs TCP_INFO" unless Onewrite.status[:kernel_evidence]
    Onewrite.install(observe: true)
    http = timed(tap_server)
    socket_of(http).io.setsockopt(Socket::IPPROTO_TCP, Socket::TCP_NODELAY, 0)
    20.times { http.request(post("/", "x" * 200)) }
    stalled = @records.select { |one| one.wait_ns > 30_000_000 }
    skip "this machine does not delay acknowledgements" if stalled.size < 5
    assert_equal :nagle_delayed_ack, mode(stalled.map(&:cause))
    assert_match(/wait [\d.]+ \(nagle_delayed_ack: held [\d.]+, unread 0.0, rest [\d.]+\)/, stalled.last.to_s)

    Onewrite.install(observe: false)
    @records.clear
    10.times { http.request(post("/", "x" * 200)) }
    refute_includes @records.map(&:cause), :nagle_delayed_ack
  end

  # The library's limits, and one that a program puts over the reading of a head.
  class HeadTooSlow < StandardError; end

  def test_a_limit_over_the_librarys_own_reading_holds
    out = ruby(<<~'RUBY', env: { "PORT" => tap_server { sleep 5 }.port.to_s })
      require "onewrite"
      require "timeout"
      HeadTooSlow = Class.new(StandardError)
      Net::BufferedIO.prepend(Module.new { def readuntil(*args) = Timeout.timeout(0.2, HeadTooSlow) { super(*args) } })
      Onewrite.on_timing { |record| puts [record.outcome, record.error_phase].join(" ") }
      begin
        Net::HTTP.start("127.0.0.1", ENV["PORT"].to_i, nil, read_timeout: 3, max_retries: 0) { |http| http.get("/") }
      rescue HeadTooSlow => e
        puts e.class
      end
    RUBY
    assert_equal "error wait\nHeadTooSlow\n", out
  end

  def test_a_long_query_costs_nothing
    Onewrite.on_timing { nil }
    http = session(tap_server)
    time = lambda do |path|
      before = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID)
      5.times { http.get(path) }
      Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID) - before
    end
    short = time.call("/")
    assert_operator time.call("/?#{"a" * 32_000}&x=1"), :<, (20 * short) + 0.1
  end
end
