# frozen_string_literal: true

require "onewrite/errors"
require "onewrite/timing/cause"
require "onewrite/timing/events"
require "onewrite/timing/hooks"
require "onewrite/timing/kernel"
require "onewrite/timing/redact"

module Onewrite
  # The one clock of the timing model: CLOCK_MONOTONIC, which on Linux is the same for all processes of a machine.
  module Clock
    class << self
      # @return [Integer] nanoseconds
      def now
        Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
      end

      # @return [Integer] what is added to a reading for the time of the wall clock
      def anchor
        Process.clock_gettime(Process::CLOCK_REALTIME, :nanosecond) - now
      end
    end
  end

  # Connection, phases and kernel evidence of one attempt, computed when they are called. A {Timing} answers for its last
  # attempt, an {Attempt} for itself. All `_ns` values are integer nanoseconds; what did not happen is nil, never 0. A phase in
  # which an attempt failed lasts to the end of the attempt.
  module Phases
    # @return [Symbol] :ok, :error or :cancelled
    attr_reader :outcome
    # @return [Integer, nil] status code of the final response
    attr_reader :status
    # @return [Integer, nil] the connection's number in this process
    attr_reader :conn_id
    # @return [Integer, nil] requests on the connection, this one included
    attr_reader :conn_requests
    # @return [Integer, nil] bytes of the response body: as announced, else as the caller got them
    attr_reader :bytes_received

    # @return [Boolean, nil] whether the connection carried a request before
    def reused
      @conn_requests && @conn_requests > 1
    end

    # @return [Integer, nil] how long a reused connection lay idle
    def idle_ns
      (@acquired || @attempt_started) - @idle_since if reused && @idle_since
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

    # @return [Symbol, nil] why a wait of 20 ms or more was long: :nagle_delayed_ack, :retransmit, :peer_window or :server
    def cause
      wait = wait_ns
      return nil if wait.nil? || wait < Cause::LONG_NS

      evidence = kernel
      evidence && Cause.of(evidence, writes, @nodelay)
    end

    private

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
      { outcome: outcome, status: status, conn_id: conn_id, reused: reused, connect_ns: connect_ns, tls_ns: tls_ns,
        send_ns: send_ns, wait_ns: wait_ns, receive_ns: receive_ns, total_ns: total_ns, kernel: (kernel && kernel.to_h),
        cause: cause }
    end

    def known(fields)
      fields.reject { |_, value| value.nil? }
    end
  end

  # One attempt of a call. Frozen.
  class Attempt
    include Phases

    # @return [Integer] 0, 1, …
    attr_reader :index

    # @param timing [Timing] whose last attempt this is
    def initialize(timing)
      Live::MOMENTS.each { |name| instance_variable_set(name, timing.instance_variable_get(name)) }
      freeze
    end

    # @return [Integer]
    def total_ns
      distance(@attempt_started, @ended)
    end

    # @return [Hash{Symbol => Object}] without what is nil
    def to_h
      known({ index: index, idle_ns: idle_ns, conn_requests: conn_requests, bytes_sent: bytes_sent, writes: writes,
              bytes_received: bytes_received }.merge(common))
    end
  end

  # The part of {Timing} that runs while the call does: it notes the moment of each step and gives listeners the events.
  # Nothing here is for programs.
  #
  # Each method call costs a request about 0.1 µs, because this code is not in the CPU's caches. So a step only notes a
  # value, and reads the clock without {Clock}; everything else is computed when the record is read.
  # @api private
  module Live
    # The variables of one attempt.
    MOMENTS = %i[
      @outcome @status @conn_id @conn_requests @idle_since @attempt_started @acquired @connect_start @connect_end
      @tls_start @tls_end @request_start @request_end @response_start @response_end @ended
      @bytes_sent @writes @bytes_received @nodelay @before @exact @after @index
    ].freeze
    # Connecting by `start` is part of the first request's record if that begins within this time.
    CONNECT_GRACE_NS = 100_000_000
    # When the answer comes sooner than this after the last write, nothing can have been retransmitted or held.
    SOON_NS = 1_000_000

    # The variables of a call besides. An object's variables get their room at once, because the last of them is set first.
    OTHERS = %i[
      @origin @anchor @method @path @attempted @begun @headed @finished @earlier @listeners @frame @last @connection
      @error_kind @error_phase @started_at_mono_ns
    ].freeze
    private_constant :OTHERS

    # @return [Array<#on_event>, nil] nil without a listener
    attr_reader :listeners
    attr_reader :request_end
    attr_writer :method, :path, :tls_start, :tls_end, :status, :response_start, :response_end, :bytes_received

    # @param origin [Array] whether TLS is used, address, port
    # @param anchor [Integer] as of {Clock.anchor}
    def initialize(origin, anchor)
      clear if RUBY_VERSION < "3.0" # -w warns of a variable never set
      @index = 0
      @origin = origin
      @anchor = anchor
      @started_at_mono_ns = @attempt_started = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
    end

    # Takes method and path of a request that is not sent, or not yet. No method that it defines is called: it may be any object.
    def name_of(req)
      return if @method || !(Object === req)

      @method = req.instance_variable_get(:@method)
      @path = req.instance_variable_get(:@path)
    rescue NoMethodError # of a mock
      nil
    end

    # @param frame [Hooks::Frame] that notes which listener runs
    # @return [Array, nil] for the last events; nil without listeners
    def listen(listeners, frame)
      return if listeners.empty?

      @listeners = listeners
      @frame = frame
      []
    end

    # The session was not connected, and no request was there.
    def not_started
      connected(nil)
      @path = "/"
    end

    # Whether the connection that was opened in this call was opened just now.
    def just_opened?
      !@connect_end.nil? && Clock.now - (@tls_end || @connect_end) <= CONNECT_GRACE_NS
    end

    # An attempt begins. If there was one before, it has failed and is repeated.
    def attempt
      repeat if @attempted
      @attempted = true
      return unless @listeners

      call_start unless @begun
      emit(:attempt_start, @attempt_started)
    end

    # A connection is being made in this attempt, or was made.
    # @param now [Integer, nil] when it was made
    def connected(now)
      @connect_start = @attempt_started
      @connect_end = @tls_start || now
    end

    # A connection carries the attempt.
    def acquired(connection)
      @connection = connection
      @conn_id = connection.id
      @conn_requests = requests = connection.requests
      @idle_since = connection.idle_since
      connection.counters || connection.read_counters(requests - 1)
      return unless @listeners

      connect_events if @connect_start
      @acquired = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
      idle = @acquired - @idle_since if requests > 1 && @idle_since
      emit(:connection_acquired, @acquired, [@conn_id, requests > 1, requests, idle])
    end

    # Bytes are about to be handed to the kernel.
    def writing(size)
      return @bytes_sent += size, @writes += 1 if @writes

      @request_start = now = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
      @bytes_sent = size
      @writes = 1
      emit(:request_start, now) if @listeners
    end

    # The last write has returned.
    def sent(now = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond))
      return if @writes.nil? || @request_end

      @request_end = now
      emit(:request_end, now, [@bytes_sent, @writes]) if @listeners
    end

    # The first byte of an answer came after a wait in which bytes may have been held. The counters before the request are those
    # that the connection has until then.
    def waited(connection, nodelay)
      unless @before
        @before = connection.counters
        @exact = connection.counters_of == @conn_requests - 1
      end
      @after = connection.read_counters(@conn_requests)
      @nodelay = nodelay
    end

    # An interim response was read. Counters that were read for it do not cover a body that is sent after it.
    def informed(status, now)
      @after = nil
      emit(:informational, now, status) if @listeners
      self
    end

    # The library gives a response to the caller, or is about to read its body. May be called more than once.
    def emit_headers
      return if @headed

      @headed = true
      emit(:headers_end, Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond), @status)
    end

    # The body was read; for listeners.
    def emit_body
      return if @finished

      @finished = true
      emit(:response_end, @response_end, @bytes_received)
    end

    # The request ended with a response. Seals the record.
    # @param response [Net::HTTPResponse, nil] nil where another gem returned an object of another class
    # @param reusable [Boolean] whether the connection is open
    # @param again [Boolean] whether code of the caller ran after the body was read
    # @param events [Array<Event>, nil] gets the last events, which listeners get from the caller
    def complete(req, response, reusable, again, events)
      name_of(req) unless @method
      responded(response) if response && (@listeners || !@response_end)
      @ended = @response_end
      @ended = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond) if again || @ended.nil?
      seal(:ok, reusable, nil, events)
    end

    # The call ended in any other way. Seals the record.
    # @param error [Exception, nil]
    # @param left [Boolean, nil] whether the caller's block was left, which is no error
    # @param events [Array<Event>, nil] as of {complete}
    def finish(error, left, events)
      @ended = Clock.now
      outcome = error.is_a?(StandardError) ? :error : :cancelled
      outcome = :ok if left && error.nil?
      unless outcome == :ok
        @error_phase = phase
        @error_kind = outcome == :cancelled ? :cancelled : ErrorKind.kind(error, @error_phase)
        @attempted = true
      end
      seal(outcome, false, error, events)
    end

    # An event for the listeners, or one of the last events.
    def emit(name, now, detail = nil, attempt = @index)
      event = Event.new(name, now, attempt, detail)
      @begun = true # not before: a call that is interrupted here has no event yet
      @last ? @last << event : Hooks.give(@frame, @listeners, event)
    end

    private

    def clear
      (OTHERS + MOMENTS).each { |name| instance_variable_set(name, nil) }
    end

    # A response without a body, or one that the library did not read.
    def responded(response)
      @status ||= response.code.to_i
      return unless @attempted

      early = @response_start
      # Before Ruby 2.3 Net::HTTP returns a 1xx response other than 100 as the final one.
      @response_start ||= Clock.now
      @response_end ||= Clock.now
      return unless @listeners

      emit(:response_start, @response_start) unless early
      emit_headers
      emit_body
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

    def seal(outcome, reusable, error, events)
      @outcome = outcome
      if events
        last_events(events.clear, reusable, error)
        @listeners = @frame = @last = nil
      end
      if @connection
        @connection.call = nil
        @connection.idle_since = @ended
        @connection = nil
      end
      freeze
    end

    def last_events(events, reusable, error)
      @last = events
      begun = @begun
      call_start unless begun
      if @attempted
        emit(:attempt_start, @attempt_started) unless begun
        connect_events(error) if @connect_start && !@conn_id
        emit(:connection_released, @ended, reusable) if @conn_id
        emit(:attempt_end, @ended, @outcome)
      end
      emit(:call_end, @ended, [@outcome, @error_kind, @error_phase], nil)
    end

    def call_start
      emit(:call_start, @started_at_mono_ns,
           [@method.to_s, [*@origin, @path.to_s], @started_at_mono_ns + @anchor], nil)
    end

    def connect_events(error = nil)
      failed = (error ? Redact.error(error) : "given up") if connecting?
      emit(:connect_start, @connect_start)
      emit(:connect_end, @connect_end || @ended, (failed unless @tls_start))
      return unless @tls_start

      emit(:tls_start, @tls_start)
      emit(:tls_end, @tls_end || @ended, failed)
    end

    def repeat
      @outcome = :error
      @ended = now = Clock.now
      if @listeners
        connect_events if @connect_start && !@conn_id
        emit(:connection_released, now, false) if @conn_id
        emit(:attempt_end, now, :error)
      end
      @earlier = [*@earlier, Attempt.new(self)].freeze
      index = @index + 1
      MOMENTS.each { |name| instance_variable_set(name, nil) }
      @index = index
      @headed = @finished = nil
      @attempt_started = now
    end
  end

  # The record of one call, handed to {Onewrite.on_timing} when the call is over. Frozen then. It is the object that took the
  # times ({Live}).
  #
  # A call is one request made by `request` (or `get`, `post`, …). It has one attempt, and one more per repetition
  # (`max_retries`). Phases, `status`, `kernel` and the like of the call are those of its last attempt.
  #
  # It holds plain values alone, so Marshal can dump it.
  class Timing
    include Phases
    include Live

    # @return [Symbol, nil] such as :timeout, :reset, :tls
    attr_reader :error_kind
    # @return [Symbol, nil] the phase it failed in, such as :connect or :wait
    attr_reader :error_phase
    # @return [Integer] monotonic clock at the start of the call
    attr_reader :started_at_mono_ns

    # @return [String] request method; empty where `start` failed to connect: there was no request yet
    def method
      @method.to_s
    end

    # @return [Integer] wall clock at the start of the call
    def started_at_unix_ns
      @started_at_mono_ns + @anchor
    end

    # @return [Integer] from start to end of the call
    def total_ns
      distance(@started_at_mono_ns, @ended)
    end

    # @return [String] with the query, but without user and password and the values that sign a URL; keep it out of logs
    #   if its query may hold other secrets
    def url
      Redact.url(Redact.join(*@origin, @path.to_s))
    end

    # @return [Array<Attempt>] frozen; one or more; empty where another gem's module answered in the library's place
    def attempts
      (@attempted ? [*@earlier, Attempt.new(self)] : []).freeze
    end

    # @return [String] one line for people: `POST http://… 200 in 41.9 ms: send 0.1, wait 41.7 (held 41.6:
    #   nagle_delayed_ack), receive 0.0; reused conn 3`. The form is that of all languages (spec/testdata/text_form.json).
    def to_s
      head = [method, url, status, failure].compact.join(" ").lstrip
      phases = PHASES.map { |name| phase_text(name) }.compact.join(", ")
      text = "#{head} in #{milliseconds(total_ns)} ms"
      text += ": #{phases}" unless phases.empty?
      text += "; #{reused ? "reused" : "new"} conn #{conn_id}" if conn_id
      text += "; attempt #{attempts.size}" if attempts.size > 1
      text
    end

    # @return [Hash{Symbol => Object}] without what is nil
    def to_h
      known({ method: method, url: url, error_kind: error_kind, error_phase: error_phase,
              started_at_unix_ns: started_at_unix_ns, started_at_mono_ns: started_at_mono_ns }
            .merge(common).merge(attempts: attempts.map(&:to_h)))
    end

    # @return [String] the one line of {to_s}; the variables hold the URL with its secrets
    def inspect
      "#<#{self.class} #{self}>"
    end

    PHASES = %i[connect tls send wait receive].freeze
    private_constant :PHASES

    allocate.__send__(:clear) # gives each variable its place

    private

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
