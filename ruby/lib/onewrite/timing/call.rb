# frozen_string_literal: true

require "onewrite/errors"
require "onewrite/timing/attempt"
require "onewrite/timing/clock"
require "onewrite/timing/events"
require "onewrite/timing/hooks"
require "onewrite/timing/moments"
require "onewrite/timing/origin"
require "onewrite/timing/phases"
require "onewrite/timing/record"
require "onewrite/timing/redaction"

module Onewrite
  # A call that is running: it notes the time of each step, and gives listeners the events. It exists only for calls with a
  # hook. {#record} makes the {Timing} of it.
  #
  # Each method call costs a request about 0.1 µs, because this code is not in the CPU's caches. So a step only notes a
  # value, and reads the clock without {Clock}; everything else is computed when the record is read.
  class Call
    # When a connection was made. `start` connects before there is a call; the first call takes these times over.
    Connecting = Struct.new(:start, :tls_start, :tls_end, :end)

    # Connecting by `start` is part of the first request's record if that begins within this time.
    SAME_BREATH_NS = 100_000_000

    NO_FIELDS = {}.freeze
    private_constant :NO_FIELDS

    # @param listeners [Array<#on_event>, nil] nil where there is none
    # @param origin [String] such as http://127.0.0.1:80
    # @param path [String]
    # @param started [Integer, nil] the moment its connecting began, if it has begun
    def initialize(listeners, method, origin, path, started = nil)
      @method = method
      @origin = origin
      @path = path
      @moments = Moments.new
      @listeners = listeners
      @earlier = @error_kind = @error_phase = @headed = @released = nil
      @started_at_mono_ns = now = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
      @started_at_unix_ns = Process.clock_gettime(Process::CLOCK_REALTIME, :nanosecond)
      if started
        @started_at_mono_ns = started
        @started_at_unix_ns -= now - started
      end
      return unless listeners

      tell(:call_start, @started_at_mono_ns,
           { method: method, url: Redaction.url(Origin.join(origin, path)), started_at_unix_ns: @started_at_unix_ns })
    end

    # @return [Timing] the record of the call, when it is over
    def record
      Timing.new(@method, @origin, @path, @started_at_mono_ns, @started_at_unix_ns, @moments, @earlier, @error_kind, @error_phase)
    end

    # An attempt begins. If there was one before, it has failed and is repeated.
    def attempt_start
      if @moments.index
        repeat
      else
        @moments.index = 0
        @moments.attempt_started = @started_at_mono_ns
      end
      tell(:attempt_start, attempt_started) if @listeners
    end

    # @return [Integer, nil] when the attempt under way began
    def attempt_started
      @moments.attempt_started
    end

    # A connection was made for this attempt, or could not be made.
    # @param failed_at [Integer, nil] when it failed
    # @param error [Exception, nil] why; nil if it was given up
    def connect(connecting, failed_at = nil, error = nil)
      moments = @moments
      moments.connect_start = connecting.start
      moments.connect_end = connecting.tls_start || connecting.end || failed_at
      moments.tls_start = connecting.tls_start
      moments.tls_end = connecting.tls_end || failed_at if connecting.tls_start
      tell_connect(failed_at, error) if @listeners
    end

    # A connection carries the attempt.
    # @param requests [Integer] on it, this one included
    # @param idle_since [Integer, nil]
    # @param counters [String, nil] the kernel's
    def acquire(conn_id, requests, idle_since, counters)
      moments = @moments
      moments.conn_id = conn_id
      moments.conn_requests = requests
      moments.idle_since = idle_since
      moments.counters_before = counters
      tell_acquired if @listeners
    end

    # Bytes are about to be handed to the kernel.
    def writing(size)
      moments = @moments
      if moments.writes
        moments.bytes_sent += size
        moments.writes += 1
      else
        moments.request_start = now = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
        moments.bytes_sent = size
        moments.writes = 1
        tell(:request_start, now) if @listeners
      end
    end

    # The last write has returned. The kernel's counters are read now, since the client waits for the answer anyway.
    # @param connection [NetHTTP::Connection]
    def sent(connection)
      moments = @moments
      return unless moments.writes

      moments.request_end = now = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
      moments.counters_sent = connection.counters_when_sent(now)
      tell_sent if @listeners
    end

    # The first byte of the answer is there. Not called for an answer that came at once.
    # @param now [Integer] when the byte was there
    # @param counters [String, nil] the kernel's, then
    # @return [Boolean, nil] whether the wait was so long that its cause is wanted
    def answered(now, counters)
      @moments.counters_sent = nil
      @moments.counters_answered = counters
      counters && @moments.request_end && now - @moments.request_end >= Phases::LONG_NS
    end

    # @param on [Boolean, nil] whether TCP_NODELAY was on; read after a long wait only
    def nodelay=(on)
      @moments.nodelay = on
    end

    # The first line of a response was read.
    # @param code [String]
    # @param now [Integer] when its first byte was there
    def status_line(code, now)
      status = code.to_i
      return interim(status, now) if status < 200 && status >= 100

      moments = @moments
      # The server may answer before the request was written to its end, as with 417 to Expect: 100-continue.
      early = moments.writes && !moments.request_end
      moments.request_end = now if early
      moments.status = status
      moments.response_start = now
      return unless @listeners

      tell_sent if early
      tell(:response_start, now)
    end

    # The library gives a response to the caller, or is about to read its body. May be called more than once.
    # @param response [Net::HTTPResponse]
    def headers_end(response)
      final(response.code) unless @moments.response_start
      fields = response.get_fields("server-timing") if response.respond_to?(:get_fields) # another gem's may not
      @moments.server_timing_fields = fields if fields
      return if @headed || !@listeners

      @headed = true
      tell(:headers_end, Clock.now, { status: @moments.status })
    end

    # The last byte of the body was read.
    # @param bytes [Integer, String, nil]
    def received(bytes)
      moments = @moments
      return if moments.response_end

      moments.response_end = now = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
      moments.bytes_received = bytes
      tell(:response_end, now, bytes ? { bytes: bytes.to_i } : NO_FIELDS) if @listeners
    end

    # The response was read to its end, and the call is over.
    # @param response [Net::HTTPResponse]
    # @param socket [Net::BufferedIO]
    # @return [Integer] the moment
    def complete(response, socket)
      headers_end(response) unless @moments.response_end
      received(nil) unless @moments.response_end
      released(!socket.closed?) if @listeners && @moments.conn_id
      finish(:ok)
    end

    # The call is over in any other way.
    # @param outcome [Symbol] :ok, :error, :cancelled
    # @param error [Exception, nil]
    # @return [Integer] the moment
    def finish(outcome, error = nil)
      unless outcome == :ok
        @error_phase = @moments.phase
        @error_kind = outcome == :cancelled ? :cancelled : ErrorKind.kind(error, @error_phase)
        # Refused, or given up before the library looked for a connection.
        attempt_start unless @moments.index
      end
      end_attempt(outcome)
      if @listeners
        tell(:call_end, @moments.ended, known(outcome: outcome, error_kind: @error_kind, error_phase: @error_phase), nil)
      end
      @moments.ended
    end

    private

    # Counters read before 100 (Continue) do not cover the body that is sent after it.
    def interim(status, now)
      @moments.counters_answered = nil
      tell(:informational, now, { status: status }) if @listeners
    end

    # Before Ruby 2.3 Net::HTTP returns a 1xx response other than 100 as the final one.
    def final(code)
      @moments.status = code.to_i
      @moments.response_start = now = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
      tell(:response_start, now) if @listeners
    end

    def end_attempt(outcome)
      released(false) if @listeners && @moments.conn_id && !@released
      @moments.outcome = outcome
      @moments.ended = now = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
      tell(:attempt_end, now, { outcome: outcome }) if @listeners && @moments.index
    end

    def repeat
      end_attempt(:error)
      @earlier = [*@earlier, Attempt.new(@moments)]
      @headed = @released = nil
      @moments = Moments.new(@earlier.size)
      @moments.attempt_started = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
    end

    # What follows is for listeners.

    def tell_connect(failed_at, error)
      moments = @moments
      why = error ? "#{error.class}: #{Redaction.message(error.message)}" : "given up"
      failure = failed_at ? { error: why } : NO_FIELDS
      tell(:connect_start, moments.connect_start)
      tell(:connect_end, moments.connect_end, moments.tls_start ? NO_FIELDS : failure)
      return unless moments.tls_start

      tell(:tls_start, moments.tls_start)
      tell(:tls_end, moments.tls_end, failure)
    end

    def tell_acquired
      moments = @moments
      moments.acquired = now = Clock.now
      reused = moments.conn_requests > 1
      idle_ns = now - moments.idle_since if reused && moments.idle_since
      tell(:connection_acquired, now,
           known(conn_id: moments.conn_id, reused: reused, conn_requests: moments.conn_requests, idle_ns: idle_ns))
    end

    def known(fields)
      fields.reject { |_, value| value.nil? }
    end

    def tell_sent
      tell(:request_end, @moments.request_end, { bytes: @moments.bytes_sent, writes: @moments.writes })
    end

    def released(reusable)
      @released = true
      tell(:connection_released, Clock.now, { reusable: reusable })
    end

    # What another thread raises meanwhile (Timeout, Thread#raise) reaches the caller, not a listener.
    def tell(name, now, fields = NO_FIELDS, attempt = @moments.index)
      event = Event.new(name, now, attempt, fields)
      Thread.handle_interrupt(Hooks::NEVER) { @listeners.each { |listener| Hooks.tell(listener, event) } }
    end
  end
end
