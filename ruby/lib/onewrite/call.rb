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
    # @param url [Array<String, Integer>] pieces; joined when someone asks
    def initialize(hooks, method, url, started)
      @timings = hooks.timings
      @listeners = hooks.listeners.empty? ? nil : hooks.listeners
      @method = method
      @url = url
      @started = started
      @started_unix = Clock.unix - (Clock.now - started)
      @attempts = []
      @attempt = nil
      @bytes = @writes = 0
      tell(:call_start, started, method: method, url: url.join, started_at_unix_ns: @started_unix) if @listeners
    end

    # A first or a further attempt begins; one that was under way has failed and is being repeated.
    # @return [Integer] the moment
    def attempt_start(now)
      if @attempt
        end_attempt(:error)
        now = Clock.now
      end
      @attempt = Attempt.new(@attempts.size, now)
      @attempts << @attempt
      @bytes = @writes = 0
      tell(:attempt_start, now) if @listeners
      now
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
    def acquired(connection, now)
      @attempt.acquire(connection, now)
      return unless @listeners

      fields = { conn_id: connection.id, reused: @attempt.reused, conn_requests: connection.requests }
      fields[:idle_ns] = @attempt.idle_ns if @attempt.idle_ns
      tell(:connection_acquired, now, fields)
    end

    # Bytes are about to be handed to the kernel.
    def writing(bytes)
      unless @attempt.request_start
        @attempt.request_start = now = Clock.now
        tell(:request_start, now) if @listeners
      end
      @bytes += bytes
      @writes += 1
    end

    # The last write has returned.
    def request_end(now = Clock.now)
      return unless @attempt.request_start

      @attempt.request_end = now
      @attempt.bytes_sent = @bytes
      @attempt.writes = @writes
      tell(:request_end, now, bytes: @bytes, writes: @writes) if @listeners
    end

    # The first line of a response was read.
    # @param now [Integer] when its first byte was
    # @return [Boolean] whether it is the final one
    def status_line(code, now)
      if code.start_with?("1")
        tell(:informational, now, status: code.to_i) if @listeners
        return false
      end
      # The server may answer before it was asked in full, as with a 417 to Expect: 100-continue.
      request_end(now) unless @attempt.request_end
      @attempt.response_start = now
      @attempt.status = code.to_i
      tell(:response_start, @attempt.response_start) if @listeners
      true
    end

    # The library gives a response to the caller. Before Ruby 2.3 that may be an interim one other than 100.
    def final(code)
      return if @attempt.response_start

      @attempt.response_start = now = Clock.now
      @attempt.status = code.to_i
      tell(:response_start, now) if @listeners
    end

    # @param info [TcpInfo, nil] the kernel's counters at the first line of the response
    def looked(info)
      @attempt.info = info
    end

    def headers_end
      tell(:headers_end, Clock.now, status: @attempt.status) if @listeners
    end

    # The last byte of the body was read.
    # @param bytes [Integer, nil]
    def response_end(bytes)
      return if @attempt.response_end

      @attempt.response_end = now = Clock.now
      @attempt.bytes_received = bytes
      tell(:response_end, now, bytes ? { bytes: bytes } : NO_FIELDS) if @listeners
    end

    # The exchange is over as far as the connection is concerned.
    def released(reusable)
      @released = true
      tell(:connection_released, Clock.now, reusable: reusable) if @listeners
    end

    # The call is over: the record goes out, then nothing more is told.
    # @param outcome [Symbol] :ok, :error, :cancelled
    # @param error [Exception, nil]
    # @return [Integer] the moment
    def finish(outcome, error = nil)
      cause = outcome == :ok ? nil : blame(outcome, error)
      now = @attempt ? end_attempt(outcome) : Clock.now
      tell_end(now, outcome, cause) if @listeners
      unless @timings.empty?
        record = Timing.new(@method, @url, outcome, cause, [@started_unix, @started], now - @started, @attempts.freeze)
        @timings.each { |hook| Hooks.guard { hook.call(record) } }
      end
      now
    end

    private

    # @return [Integer] the moment
    def end_attempt(outcome)
      released(false) if @attempt.acquired && !@released
      @released = false
      @attempt.ended = now = Clock.now
      @attempt.outcome = outcome
      @attempt.freeze
      tell(:attempt_end, now, outcome: outcome) if @listeners
      @attempt = nil
      now
    end

    # @return [Array(Symbol, Symbol)] kind and phase
    def blame(outcome, error)
      phase = phase()
      [outcome == :cancelled ? :cancelled : Failure.kind(error, phase), phase]
    end

    # The phase the attempt is in.
    def phase
      attempt = @attempt
      return nil unless attempt
      return attempt.tls_start ? :tls : :connect unless attempt.acquired
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

    def tell_end(now, outcome, cause)
      fields = { outcome: outcome }
      fields[:error_kind], fields[:error_phase] = cause if cause
      fields.delete(:error_phase) unless fields[:error_phase]
      tell(:call_end, now, fields)
    end

    def tell(name, now, fields = NO_FIELDS)
      event = Event.new(name, now, @attempt && @attempt.index, fields)
      @listeners.each { |listener| Hooks.guard { listener.on_event(event) } }
    end
  end
end
