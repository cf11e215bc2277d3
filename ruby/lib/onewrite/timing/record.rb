# frozen_string_literal: true

require "onewrite/errors"
require "onewrite/timing/events"
require "onewrite/timing/hooks"
require "onewrite/timing/kernel"
require "onewrite/timing/redact"

module Onewrite
  # The one clock of the timing model: CLOCK_MONOTONIC, which on Linux is the same for all processes of a machine.
  module Clock
    MONOTONIC = Process::CLOCK_MONOTONIC

    class << self
      # Process has this method twice, as each module function. A test puts its stand-in over `Process.clock_gettime` alone.
      define_method(:clock_gettime, Process.instance_method(:clock_gettime))

      # @return [Integer] nanoseconds
      def now
        clock_gettime(MONOTONIC, :nanosecond)
      end

      # @return [Integer] what is added to a reading for the time of the wall clock
      def anchor
        clock_gettime(Process::CLOCK_REALTIME, :nanosecond) - now
      end
    end
  end

  # The record of one call, handed to {Onewrite.on_timing} when the call is over. Frozen then. It is the object that took the
  # times: the methods marked private note the moment of each step and give listeners the events.
  #
  # A call is one request made by `request` (or `get`, `post`, …). It has one attempt, and one more per repetition
  # (`max_retries`). Phases, `status`, `kernel` and the like of the call are those of its last attempt. All `_ns` values are
  # integer nanoseconds; what did not happen is nil, never 0. A phase in which an attempt failed lasts to the end of the
  # attempt.
  #
  # It holds plain values alone, so Marshal can dump it, and no secrets.
  class Timing # rubocop:disable Metrics/ClassLength -- readers, and the steps of a call
    include Plain

    # Connecting by `start` is part of the first request's record if that begins within this time.
    CONNECT_GRACE_NS = 100_000_000
    # When the answer comes sooner than this after the last write, nothing can have been retransmitted or held.
    SOON_NS = 1_000_000
    # Shorter waits are given no cause, and a shorter hold explains none.
    LONG_NS = 20_000_000
    PHASES = %i[connect tls send wait receive].freeze
    EMPTY = ""
    private_constant :PHASES, :EMPTY

    # @return [Integer, nil] 0, 1, … as an attempt; nil where another gem's module answered in the library's place
    attr_reader :index
    # @return [Symbol] :ok, :error or :cancelled
    attr_reader :outcome
    # @return [Symbol, nil] such as :timeout, :reset, :tls
    attr_reader :error_kind
    # @return [Symbol, nil] the phase it failed in, such as :connect or :wait
    attr_reader :error_phase
    # @return [Integer] monotonic clock at the start
    attr_reader :started_at_mono_ns
    # @return [Integer, nil] status code of the final response
    attr_reader :status
    # @return [Integer, nil] the connection's number in this process
    attr_reader :conn_id
    # @return [Integer, nil] requests on the connection, this one included
    attr_reader :conn_requests
    # @return [String, nil] host and port of the proxy that the connection goes through
    attr_reader :proxy
    # @return [Integer, nil] bytes of the response body: as announced, else as the caller got them
    attr_reader :bytes_received

    # @api private
    attr_reader :path

    # @api private
    attr_writer :index, :method, :path, :socket, :conn_id, :conn_requests, :idle_since, :proxy, :tls_start, :tls_end, :status,
                :response_start, :bytes_received

    # @api private
    attr_accessor :request_end, :response_end, :session, :outer, :hook, :listeners

    # All variables are set here, in one order: from Ruby 3.2 on, an object that gets them in many orders becomes slow. Before, it
    # gets room for all at once, because the last is set first.
    # @param origin [String] as of {Redact.origin}
    # @param anchor [Integer] as of {Clock.anchor}
    # @param session [Net::HTTP]
    # @param outer [Timing, Hooks::Running, nil] what is under way in this Fiber
    # @api private
    def initialize(origin, anchor, session, outer) # rubocop:disable Metrics/AbcSize
      @due = nil
      @origin = origin
      @anchor = anchor
      @session = session
      @outer = outer
      @method = @path = @url = @index = @outcome = @status = @conn_id = @conn_requests = @idle_since = @proxy = nil
      @connect_start = @connect_end = @tls_start = @tls_end = @request_start = @request_end = nil
      @response_start = @response_end = @ended = @bytes_sent = @writes = @bytes_received = @nodelay = nil
      @before = @after = @exact = @begun = @headed = @earlier = @listeners = @hook = @socket = @error_kind = @error_phase = nil
      @started_at_mono_ns = @attempt_started = Clock.clock_gettime(Clock::MONOTONIC, :nanosecond)
    end

    # @return [String] request method; empty where `start` failed to connect: there was no request yet
    def method
      @method.to_s
    end

    # @return [String] without user, password and the values of query keys that have a secret word
    def url
      @url || Redact.url(Redact.join(@origin, @path))
    end

    # @return [Integer] wall clock at the start of the call
    def started_at_unix_ns
      @started_at_mono_ns + @anchor
    end

    # @return [Integer] from start to end
    def total_ns
      distance(@started_at_mono_ns, @ended)
    end

    # @return [Boolean, nil] whether the connection carried a request before
    def reused
      @conn_requests && @conn_requests > 1
    end

    # @return [Integer, nil] how long a reused connection lay idle
    def idle_ns
      @attempt_started - @idle_since if reused && @idle_since
    end

    # @return [Integer, nil] bytes of the request
    def bytes_sent
      @bytes_sent if @request_end
    end

    # @return [Integer, nil] writes they were handed over in
    def writes
      @writes if @request_end
    end

    # @return [nil] Net::HTTP has no pool, and the look-up of the name is part of {connect_ns}
    def queue_ns; end
    alias dns_ns queue_ns

    # @return [Integer, nil] look-up of the name, TCP handshake, and the CONNECT exchange with a proxy
    def connect_ns
      distance(@connect_start, @connect_end || cut)
    end

    # @return [Integer, nil]
    def tls_ns
      distance(@tls_start, @tls_end || cut)
    end

    # @return [Integer, nil] from the first byte handed to the kernel to the return of the last write
    def send_ns
      distance(@request_start, @request_end || cut)
    end

    # @return [Integer, nil] from the last write to the first byte of the final response
    def wait_ns
      distance(@request_end, @response_start || cut)
    end

    # @return [Integer, nil] from the first byte of the response to the last byte of its body
    def receive_ns
      distance(@response_start, @response_end || cut)
    end

    # @return [KernelEvidence, nil] nil without TCP_INFO, and where the answer came so soon that nothing can have been held
    def kernel
      return nil unless @before && @after && @request_end && @response_start

      KernelEvidence.new(@before, @after, @response_start - @request_end, @exact)
    end

    # The rule is that of all languages (spec/testdata/causes.json).
    # @return [Symbol, nil] why a wait of 20 ms or more was long: :nagle_delayed_ack, :retransmit, :peer_window or :server
    def cause
      return nil if wait_ns.to_i < LONG_NS || (evidence = kernel).nil?

      hold = evidence.send_hold_ns
      return :server if hold < LONG_NS
      # Before :retransmit, because the kernel counts probes of a closed window as retransmits.
      return :peer_window if evidence.window_closed_ns > hold / 2
      return :retransmit if evidence.retransmits > 0

      # Nagle's algorithm holds a small segment while another is unacknowledged. A single write has none before it, and with
      # TCP_NODELAY nothing is held: then it was pacing, a queue or the network.
      :nagle_delayed_ack if writes > 1 && @nodelay == false
    end

    # @return [Array<Timing>] frozen; one or more; empty where another gem's module answered in the library's place. A call of
    #   one attempt is its attempt.
    def attempts
      return [].freeze unless @index

      [*@earlier, @earlier ? dup.as_attempt : self].freeze
    end

    # @return [String] one line for people: `POST http://… 200 in 41.9 ms: send 0.1, wait 41.7 (held 41.6:
    #   nagle_delayed_ack), receive 0.0; reused conn 3`. The form is that of all languages (spec/testdata/text_form.json).
    def to_s
      text = [method, url, status, failure].compact.join(" ").lstrip
      return text unless @ended # under way

      text += " in #{milliseconds(total_ns)} ms"
      text += " via proxy #{proxy}" if proxy
      phases = PHASES.map { |name| phase_text(name) }.compact.join(", ")
      text += ": #{phases}" unless phases.empty?
      text += "; #{reused ? "reused" : "new"} conn #{conn_id}" if conn_id
      text += "; attempt #{@index + 1}" if @earlier
      text
    end

    # @return [String]
    def inspect
      "#<#{self.class} #{self}>"
    end

    # @return [Hash{Symbol => Object}] without what is nil
    def to_h
      Plain.known(method: method, url: url, error_kind: error_kind, error_phase: error_phase,
                  started_at_unix_ns: started_at_unix_ns, started_at_mono_ns: started_at_mono_ns)
           .merge(common).merge(attempts: attempts.map(&:attempt_to_h))
    end

    # @return [Hash{Symbol => Object}] as an attempt
    # @api private
    def attempt_to_h
      { index: @index }.merge(common)
    end

    # Makes a copy of the call the record of its attempt.
    # @api private
    def as_attempt
      @started_at_mono_ns = @attempt_started
      @session = @outer = @socket = @listeners = @hook = @due = @earlier = nil
      redact
      freeze
    end

    # The steps of the call. Each method call costs a request about 0.1 µs, because this code is not in the CPU's caches. So a
    # step only notes a value, and reads the clock without {Clock.now}; everything else is computed when the record is read.

    # Notes method and path of a request that is not sent, or not yet. No method that it defines is called: it may be any object.
    def name(req)
      return if @path || !(Object === req)

      @method = req.instance_variable_get(:@method)
      @path = req.instance_variable_get(:@path)
    rescue NoMethodError # of a mock
      nil
    end

    # Whether the connection that was opened in this call was opened just now.
    def just_opened?
      !@connect_end.nil? && Clock.now - (@tls_end || @connect_end) <= CONNECT_GRACE_NS
    end

    # An attempt begins. If there was one before, it has failed and is repeated.
    def attempt
      repeat if @index
      @index ||= 0
      return unless @listeners

      give(call_start) unless @begun
      @begun = @index
      emit(:attempt_start, @attempt_started)
    end

    # A connection is being made in this attempt, or was made.
    # @param now [Integer, nil] when it was made
    def connected(now)
      @connect_start = @attempt_started
      @connect_end = @tls_start || now
    end

    # A connection carries the attempt.
    def emit_acquired
      connect_events.each { |event| give(event) }
      emit(:connection_acquired, Clock.now, [@conn_id, reused, @conn_requests, idle_ns])
    end

    # The first byte is about to be written.
    def sending
      @request_start = Clock.clock_gettime(Clock::MONOTONIC, :nanosecond)
      emit(:request_start, @request_start) if @listeners
    end

    # The last write has returned.
    def sent(socket, now = Clock.clock_gettime(Clock::MONOTONIC, :nanosecond))
      return if @request_start.nil? || @request_end

      @bytes_sent = socket.onewrite_bytes
      @writes = socket.onewrite_writes
      @request_end = now
      emit(:request_end, now, [@bytes_sent, @writes]) if @listeners
    end

    # The first byte of an answer came after a wait in which bytes may have been held. The counters before the request are those
    # that the connection has until then.
    # @param nodelay [Boolean, nil] TCP_NODELAY, if the wait gets a cause
    def waited(socket, nodelay)
      unless @before
        @before, at = socket.onewrite_counters
        @exact = at == @conn_requests - 1
      end
      @after = TcpInfo.read(socket.onewrite_tcp)
      socket.onewrite_counters = [@after, @conn_requests]
      @nodelay = nodelay
    end

    # An interim response was read. Counters that were read for it do not cover a body that is sent after it.
    def informed(status, now)
      @after = nil
      emit(:informational, now, status) if @listeners
    end

    # The library gives a response without a body to the caller. It has ended.
    def answered
      return if @response_start.nil?

      @response_end = Clock.clock_gettime(Clock::MONOTONIC, :nanosecond)
      @bytes_received = 0
      emit_end if @listeners
    end

    # The head was read. May be called more than once.
    def emit_headers
      return if @headed

      @headed = true
      emit(:headers_end, Clock.clock_gettime(Clock::MONOTONIC, :nanosecond), @status)
    end

    # The body was read. May be called more than once.
    def emit_end
      emit_headers
      return if @headed == :end

      @headed = :end
      emit(:response_end, @response_end, @bytes_received)
    end

    # The call ended. Called again where a listener did not return from one of the last events.
    # @param error [Exception, nil]
    # @param left [Boolean, nil] whether it ended without an error: with *response*, or because the caller's block was left
    # @param response [Object, nil] that the library returned; one of another class is another gem's
    # @param again [Object, nil] whether code of the caller ran after the body was read
    def finish(req, error, left, response = nil, again = :code) # rubocop:disable Metrics
      unless @outcome
        name(req) unless @path
        @status ||= response.code.to_i if Net::HTTPResponse === response
        # Without a first byte another gem reads the status line: wait and receive are unknown.
        if response && @response_start
          @response_end ||= Clock.clock_gettime(Clock::MONOTONIC, :nanosecond)
          emit_end if @listeners
        end
        @ended = again || @response_end.nil? ? Clock.clock_gettime(Clock::MONOTONIC, :nanosecond) : @response_end
        @outcome = left && error.nil? ? :ok : outcome_of(error)
        failed(error) unless @outcome == :ok
      end
      last_events(error, response) if @listeners
      @socket.onewrite_idle_since = @ended if @socket
      # Nothing is kept but plain values, of which the program may change none later.
      plain = @path.instance_of?(String) && @path.ascii_only? && !@path.include?("?") && !@path.include?("@")
      plain ? @path = EMPTY + @path : redact # dup is three calls
      @method = EMPTY + @method.to_s
      @session = @outer = @socket = @listeners = @hook = @due = nil
      freeze
    end

    # An event for the listeners.
    def emit(name, now, detail = nil)
      give(Event.new(name, now, @index, detail))
    end

    private

    def give(event)
      Hooks.give(@listeners, event, self)
    end

    # What stops a thread, a task or the process is no error of the request.
    def outcome_of(error)
      case error
      when StandardError, ScriptError, NoMemoryError, SecurityError, SystemStackError then :error
      else :cancelled
      end
    end

    def failed(error)
      @error_phase = phase
      @error_kind = @outcome == :cancelled ? :cancelled : ErrorKind.kind(error, @error_phase)
      @index ||= 0
      @proxy ||= @session.__send__(:onewrite_proxy) unless @conn_id
    end

    def phase
      return (@tls_start ? :tls : :connect) if connecting?
      return nil unless @request_start
      return :send unless @request_end

      @response_start ? :receive : :wait
    end

    # Whether a connection was being made, and was not there yet.
    def connecting?
      @connect_start && !(@connect_end && (@tls_end || !@tls_start))
    end

    def redact
      @url = url
      @path = nil
    end

    # Each event is taken from the list before listeners get it: where one of them does not return, {finish} gives the others.
    def last_events(error, response)
      @due ||= due_events(error, response && @socket && !@socket.closed? ? true : false)
      while (event = @due.shift)
        give(event)
      end
    end

    def due_events(error, reusable)
      events = @begun ? [] : [call_start]
      if @index
        events << Event.new(:attempt_start, @attempt_started, @index) unless @begun == @index
        events.concat(@conn_id ? [Event.new(:connection_released, @ended, @index, reusable)] : connect_events(error))
        events << Event.new(:attempt_end, @ended, @index, @outcome)
      end
      events << Event.new(:call_end, @ended, nil, [@outcome, @error_kind, @error_phase])
    end

    def call_start
      @url = url
      @begun = -1 # of attempts: none
      Event.new(:call_start, @started_at_mono_ns, nil, [@method.to_s, @url, started_at_unix_ns])
    end

    def connect_events(error = nil)
      return [] unless @connect_start

      failed = (error ? Redact.error(error) : "given up") if connecting?
      events = [Event.new(:connect_start, @connect_start, @index, @session.__send__(:onewrite_peer)),
                Event.new(:connect_end, @connect_end || @ended, @index, (failed unless @tls_start))]
      return events unless @tls_start

      events << Event.new(:tls_start, @tls_start, @index) << Event.new(:tls_end, @tls_end || @ended, @index, failed)
    end

    # The attempt failed, and there is another one. It is kept as a record.
    def repeat # rubocop:disable Metrics/AbcSize
      @outcome = :error
      @ended = now = Clock.now
      if @listeners
        connect_events.each { |event| give(event) } unless @conn_id
        emit(:connection_released, now, false) if @conn_id
        emit(:attempt_end, now, :error)
      end
      @proxy ||= @session.__send__(:onewrite_proxy) unless @conn_id
      @earlier = [*@earlier, dup.as_attempt].freeze
      @outcome = @status = @conn_id = @conn_requests = @idle_since = @proxy = nil
      @connect_start = @connect_end = @tls_start = @tls_end = @request_start = @request_end = nil
      @response_start = @response_end = @ended = @bytes_sent = @writes = @bytes_received = @nodelay = nil
      @before = @after = @exact = @headed = @socket = nil
      @index += 1
      @attempt_started = now
    end

    # A phase that happened is at least 1 ns, even where the clock did not advance.
    def distance(from, to)
      return nil unless from && to

      to > from ? to - from : 1
    end

    # When the attempt failed.
    def cut
      @ended unless @outcome == :ok
    end

    # What a call and an attempt have in common.
    def common
      Plain.known(outcome: outcome, status: status, conn_id: conn_id, reused: reused, idle_ns: idle_ns,
                  conn_requests: conn_requests, proxy: proxy, bytes_sent: bytes_sent, writes: writes,
                  bytes_received: bytes_received, connect_ns: connect_ns, tls_ns: tls_ns, send_ns: send_ns, wait_ns: wait_ns,
                  receive_ns: receive_ns, total_ns: total_ns, kernel: (kernel && kernel.to_h), cause: cause)
    end

    def failure
      return nil if outcome == :ok

      why = [(error_kind unless outcome == :cancelled), ("in #{error_phase}" if error_phase)].compact.join(" ")
      why.empty? ? outcome : "#{outcome} (#{why})"
    end

    def phase_text(name)
      value = public_send("#{name}_ns")
      return nil unless value

      text = "#{name} #{milliseconds(value)}"
      return text unless name == :wait && cause

      text + (cause == :server ? " (server)" : " (held #{milliseconds(kernel.send_hold_ns)}: #{cause})")
    end

    def milliseconds(nanoseconds)
      format("%.1f", nanoseconds / 1e6)
    end
  end
end
