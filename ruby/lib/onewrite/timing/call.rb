# frozen_string_literal: true

require "onewrite/errors"
require "onewrite/timing/attempt"
require "onewrite/timing/clock"
require "onewrite/timing/record"

module Onewrite
  # A call that is running. It notes the time of each step and becomes the record: at the end it is frozen and given to the
  # hooks. It exists only for calls with a hook. {ToldCall} also tells listeners.
  #
  # Each method call costs a request about 0.1 µs, because this code is not in the CPU's caches. So a step only sets a
  # variable; everything else is computed when the record is read.
  class Call < Timing
    # When a connection was made. `start` connects before there is a call; the first call takes these times over.
    Connecting = Struct.new(:start, :tls_start, :tls_end, :end)

    # Connecting by `start` is part of the first request's record if that begins within this time.
    SAME_BREATH_NS = 100_000_000

    # The clock is read without {Clock}: that method call would cost more than the reading.
    MONOTONIC = Process::CLOCK_MONOTONIC
    REALTIME = Process::CLOCK_REALTIME
    private_constant :MONOTONIC, :REALTIME

    # @param origin [String] such as http://127.0.0.1:80
    # @param path [String]
    # @param started [Integer, nil] the moment its connecting began, if it has begun
    def initialize(method, origin, path, started = nil) # rubocop:disable Lint/MissingSuper -- there is none
      @method = method
      @origin = origin
      @path = path
      @started_at_mono_ns = now = Process.clock_gettime(MONOTONIC, :nanosecond)
      @started_at_unix_ns = Process.clock_gettime(REALTIME, :nanosecond)
      return unless started

      @started_at_mono_ns = started
      @started_at_unix_ns -= now - started
    end

    # An attempt begins. If there was one before, it has failed and is repeated.
    def attempt_start
      return repeat if index

      @index = 0
      @attempt_started = @started_at_mono_ns
    end

    # When the attempt under way began.
    public :attempt_started

    # A connection was made for this attempt, or could not be made.
    # @param failed_at [Integer, nil] when it failed
    # @param _error [Exception, nil]
    def connect(connecting, failed_at = nil, _error = nil)
      @connect_start = connecting.start
      @connect_end = connecting.tls_start || connecting.end || failed_at
      @tls_start = connecting.tls_start
      @tls_end = connecting.tls_end || failed_at if @tls_start
    end

    # A connection carries the attempt.
    # @param requests [Integer] on it, this one included
    # @param idle_since [Integer, nil]
    # @param baseline [String, nil] the kernel's counters
    def acquire(conn_id, requests, idle_since, baseline)
      @conn_id = conn_id
      @conn_requests = requests
      @idle_since = idle_since
      @baseline = baseline
    end

    # Bytes are about to be handed to the kernel.
    def writing(size)
      if bytes
        @bytes += size
        @count += 1
      else
        @request_start = Process.clock_gettime(MONOTONIC, :nanosecond)
        @bytes = size
        @count = 1
      end
    end

    # The last write has returned. The kernel's counters are read now, since the client waits for the answer anyway.
    def sent(connection)
      return unless bytes

      @request_end = Process.clock_gettime(MONOTONIC, :nanosecond)
      @info_sent = connection.look_sent(@request_end)
    end

    # The first byte of the answer is there. Not called for an answer that came at once.
    # @param now [Integer] when the byte was there
    # @param info [String, nil] the kernel's counters then
    # @return [Boolean, nil] whether the wait was so long that its cause is asked for
    def look(now, info)
      @info_sent = nil
      @info = info
      info && request_end && now - @request_end >= LONG_NS
    end

    # @return [Boolean, nil] whether TCP_NODELAY was on; asked after a long wait only
    attr_writer :nodelay

    # The first line of a response was read.
    # @param code [String]
    # @param now [Integer] when its first byte was there
    def status_line(code, now)
      status = code.to_i
      return interim(status, now) if status < 200 && status >= 100

      # The server may answer before the request was written to its end, as with 417 to Expect: 100-continue.
      @request_end = now if bytes && !request_end
      @status = status
      @response_start = now
    end

    # The library gives a response to the caller, or is about to read its body. May be called more than once.
    # @param response [Net::HTTPResponse]
    def headers_end(response)
      final(response.code) unless response_start
      fields = response.get_fields("server-timing") if response.respond_to?(:get_fields) # another gem's may not
      @server_timing_fields = fields if fields
    end

    # The last byte of the body was read.
    # @param bytes [Integer, String, nil]
    def received(bytes)
      @response_end = Process.clock_gettime(MONOTONIC, :nanosecond)
      @received_bytes = bytes
    end

    # The response was read to its end, and the call is over.
    # @param response [Net::HTTPResponse]
    # @param _socket [Net::BufferedIO]
    # @return [Integer] the moment
    def complete(response, _socket)
      headers_end(response) unless response_end
      now = Process.clock_gettime(MONOTONIC, :nanosecond)
      @response_end = now unless response_end
      @outcome = :ok
      @ended = now
    end

    # The call is over in any other way.
    # @param outcome [Symbol] :ok, :error, :cancelled
    # @param error [Exception, nil]
    # @return [Integer] the moment
    def finish(outcome, error = nil)
      unless outcome == :ok
        @error_phase = phase
        @error_kind = outcome == :cancelled ? :cancelled : ErrorKind.kind(error, @error_phase)
      end
      # Refused, or given up before the library looked for a connection.
      attempt_start unless index || outcome == :ok
      end_attempt(outcome)
      @ended
    end

    private

    # Counters read before 100 (Continue) do not cover the body that is sent after it.
    def interim(_status, _now)
      @info = nil
    end

    # Before Ruby 2.3 Net::HTTP returns a 1xx response other than 100 as the final one.
    def final(code)
      @status = code.to_i
      @response_start = Process.clock_gettime(MONOTONIC, :nanosecond)
    end

    def end_attempt(outcome)
      @outcome = outcome
      @ended = Process.clock_gettime(MONOTONIC, :nanosecond)
    end

    def repeat
      end_attempt(:error)
      @earlier = [*earlier, Attempt.new(self)]
      MOMENTS.each { |name| instance_variable_set(name, nil) }
      @index = @earlier.size
      @attempt_started = Process.clock_gettime(MONOTONIC, :nanosecond)
    end

    # The phase that the attempt is in, for the record of an error.
    def phase
      return nil unless index
      return tls_start ? :tls : :connect unless conn_id
      return :send unless request_end

      response_start ? :receive : :wait
    end
  end
end
