# frozen_string_literal: true

require "onewrite/clock"
require "onewrite/event"
require "onewrite/failure"
require "onewrite/hooks"
require "onewrite/timing"

module Onewrite
  # Takes the moments of one call, tells listeners as they happen and makes the record in the end.
  # Exists only for calls that someone listens to.
  class Call
    # Moments of connecting. It may come before the call, in `start`; so it is noted down and told by the call.
    Connecting = Struct.new(:start, :tls_start, :tls_end, :end)

    # How long after `start` has connected the first request may begin for the connecting to be counted as its part.
    SAME_BREATH_NS = 100_000_000

    NO_FIELDS = {}.freeze
    private_constant :NO_FIELDS

    # @param hooks [Hooks::Set] as they were when the call began
    # @param origin [String] such as http://127.0.0.1:80
    # @param path [String]
    # @param started [Integer] the moment the call began, which may be that of its connecting
    # @param now [Integer] this moment
    def initialize(hooks, method, origin, path, started, now)
      @timings = hooks.timings
      @listeners = hooks.listeners.empty? ? nil : hooks.listeners
      @method = method
      @origin = origin
      @path = path
      @started = started
      @started_unix = Clock.unix - (now - started)
      @attempt = @earlier = nil
      @bytes = @writes = 0
      return unless @listeners

      tell(:call_start, started, method: method, url: origin + path, started_at_unix_ns: @started_unix)
    end

    # @return [Boolean] whether events are told, and not only the record
    def listeners?
      !@listeners.nil?
    end

    # A first or a further attempt begins; one that was under way has failed and is being repeated.
    # @param connecting [Integer, nil] when its connection began to be made, if before
    def attempt_start(connecting)
      if @attempt
        (@earlier ||= []) << @attempt
        end_attempt(:error)
        now = Clock.now
      else
        now = connecting || @started
      end
      @attempt = Attempt.new(@earlier ? @earlier.size : 0, now)
      @bytes = @writes = 0
      tell(:attempt_start, now) if @listeners
    end

    # @return [Integer] when the attempt under way began
    def attempt_started
      @attempt.started
    end

    # A connection was made for this attempt, or could not be made.
    # @param failed_at [Integer, nil] when it failed
    def connect(connecting, failed_at = nil, error = nil)
      attempt = @attempt
      attempt.connect_start = connecting.start
      attempt.connect_end = connecting.tls_start || connecting.end || failed_at
      attempt.tls_start = connecting.tls_start
      attempt.tls_end = connecting.tls_end || failed_at if connecting.tls_start
      tell_connect(attempt, failed_at && { error: error ? "#{error.class}: #{error.message}" : "given up" }) if @listeners
    end

    # @param connection [Connection]
    def acquired(connection)
      attempt = @attempt
      return attempt.acquire(connection, attempt.started) unless @listeners

      now = Clock.now
      attempt.acquire(connection, now)
      fields = { conn_id: connection.id, reused: attempt.reused, conn_requests: connection.requests }
      fields[:idle_ns] = attempt.idle_ns if attempt.idle_ns
      tell(:connection_acquired, now, fields)
    end

    # Bytes are about to be handed to the kernel.
    def writing(bytes)
      if @writes.zero?
        @attempt.request_start = now = Clock.now
        tell(:request_start, now) if @listeners
      end
      @bytes += bytes
      @writes += 1
    end

    # The last write has returned.
    def request_end(now = Clock.now)
      return if @writes.zero?

      @attempt.written(now, @bytes, @writes)
      tell(:request_end, now, bytes: @bytes, writes: @writes) if @listeners
    end

    # The first line of a response was read.
    # @param code [String]
    # @param now [Integer] when its first byte was
    # @param info [String, nil] the kernel's counters then
    # @param io [IO] the socket
    def status_line(code, now, info, io)
      if code.start_with?("1")
        tell(:informational, now, status: code.to_i) if @listeners
        return
      end
      # The server may answer before it was asked in full, as with a 417 to Expect: 100-continue.
      request_end(now) unless @attempt.request_end
      @attempt.answered(now, code.to_i, info, io)
      tell(:response_start, now) if @listeners
    end

    # The library gives a response to the caller.
    # @param code [String]
    def headers_end(code)
      final(code)
      tell(:headers_end, Clock.now, status: @attempt.status) if @listeners
    end

    # The last byte of the body was read.
    # @param bytes [Integer, String, nil]
    def response_end(bytes)
      attempt = @attempt
      return if attempt.response_end

      attempt.received(now = Clock.now, bytes)
      tell(:response_end, now, bytes ? { bytes: bytes.to_i } : NO_FIELDS) if @listeners
    end

    # The exchange is over as far as the connection is concerned.
    def exchanged(code, reusable)
      final(code)
      response_end(nil)
      released(reusable) if @listeners
    end

    # The call is over: the record goes out, then nothing more is told.
    # @param outcome [Symbol] :ok, :error, :cancelled
    # @param error [Exception, nil]
    # @return [Integer] the moment
    def finish(outcome, error = nil)
      phase = phase() unless outcome == :ok
      last = @attempt
      now = last ? end_attempt(outcome) : Clock.now
      kind = outcome == :cancelled ? :cancelled : Failure.kind(error, phase) unless outcome == :ok
      tell_end(now, outcome, kind, phase) if @listeners
      unless @timings.empty?
        record = Timing.new(@method, @origin, @path, outcome, kind, phase, @started_unix, @started, now - @started,
                            last, @earlier)
        @timings.each { |hook| Hooks.give(hook, record) }
      end
      now
    end

    private

    # Before Ruby 2.3 the library may give the caller an interim response other than 100.
    def final(code)
      return if @attempt.response_start

      @attempt.answered(now = Clock.now, code.to_i, nil)
      tell(:response_start, now) if @listeners
    end

    def released(reusable)
      @released = true
      tell(:connection_released, Clock.now, reusable: reusable)
    end

    # @return [Integer] the moment
    def end_attempt(outcome)
      attempt = @attempt
      if @listeners
        released(false) if attempt.conn_id && !@released
        @released = false
      end
      attempt.end(now = Clock.now, outcome)
      tell(:attempt_end, now, outcome: outcome) if @listeners
      @attempt = nil
      now
    end

    # The phase the attempt is in.
    def phase
      attempt = @attempt
      return nil unless attempt
      return attempt.tls_start ? :tls : :connect unless attempt.conn_id
      return :send unless attempt.request_end

      attempt.response_start ? :receive : :wait
    end

    def tell_connect(attempt, error)
      tell(:connect_start, attempt.connect_start)
      if attempt.tls_start
        tell(:connect_end, attempt.connect_end)
        tell(:tls_start, attempt.tls_start)
        tell(:tls_end, attempt.tls_end, error || NO_FIELDS)
      else
        tell(:connect_end, attempt.connect_end, error || NO_FIELDS)
      end
    end

    def tell_end(now, outcome, kind, phase)
      fields = { outcome: outcome }
      fields[:error_kind] = kind if kind
      fields[:error_phase] = phase if phase
      tell(:call_end, now, fields)
    end

    def tell(name, now, fields = NO_FIELDS)
      event = Event.new(name, now, @attempt && @attempt.index, fields)
      @listeners.each { |listener| Hooks.tell(listener, event) }
    end
  end
end
