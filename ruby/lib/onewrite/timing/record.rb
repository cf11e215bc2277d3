# frozen_string_literal: true

require "onewrite/errors"
require "onewrite/timing/kernel"

module Onewrite
  # CLOCK_MONOTONIC, which on Linux is the same for all processes of a machine.
  module Clock
    MONOTONIC = Process::CLOCK_MONOTONIC

    class << self
      # Process has this method twice, as each module function. A test puts its stand-in over `Process.clock_gettime` alone.
      define_method(:clock_gettime, Process.instance_method(:clock_gettime))

      # @return [Integer] nanoseconds
      def now
        clock_gettime(MONOTONIC, :nanosecond)
      end
    end
  end

  # The record of one request that was sent, or that failed before it could be. A repetition by Net::HTTP has a record of its own.
  #
  # All `_ns` values are integer nanoseconds. What did not happen is nil, never 0. A phase in which the request failed lasts to
  # its end. Phases need not add up to {total_ns}: what is left is the program's own time, as in the block that gets the response,
  # or in threads that hold the interpreter's lock.
  #
  # It is the object that took the times: phases, cause, events and text are computed when they are read. It is frozen when a hook
  # gets it, and holds plain values alone, so Marshal can dump it.
  class Record # rubocop:disable Metrics/ClassLength -- readers of fields
    # When the answer comes sooner than this after the last write, nothing can have been held, and the kernel is not asked.
    SOON_NS = 1_000_000
    FIELDS = %i[method url outcome status error_kind error_phase resend conn_id reused idle_ns conn_requests proxy bytes_sent
                writes bytes_received connect_ns tls_ns send_ns wait_ns receive_ns total_ns kernel cause started_at_unix_ns
                started_at_mono_ns].freeze
    PHASES = %i[connect tls send wait receive].freeze
    # A target that is a whole URL, as a request of a proxy has it.
    ABSOLUTE = %r{\A([a-z][\w+.-]*://)?[^/]*@}i.freeze
    NO_METHOD = "".freeze
    private_constant :FIELDS, :PHASES, :ABSOLUTE, :NO_METHOD

    # @return [String] method of the request; empty where `start` failed to connect: there was no request yet. Not `method`, which
    #   is Object's
    attr_reader :http_method
    # @return [Symbol] :ok, :error or :cancelled: what the program saw. :ok also where it did not want the rest of the answer
    attr_reader :outcome
    # @return [Symbol, nil] such as :timeout, :reset, :tls
    attr_reader :error_kind
    # @return [Symbol, nil] the phase it failed in, such as :connect or :wait
    attr_reader :error_phase
    # @return [Integer, nil] 1, 2, … for the same request sent again
    attr_reader :resend
    # @return [Integer] monotonic clock when Net::HTTP began to connect, or to use the open connection. A session that was opened
    #   by `start` counts as if it had connected right before its first request
    attr_reader :started_at_mono_ns
    # @return [Integer] wall clock then
    attr_reader :started_at_unix_ns
    # @return [Integer, nil] the connection's number in this process
    attr_reader :conn_id
    # @return [Integer, nil] requests on the connection, this one included
    attr_reader :conn_requests
    # @return [Integer, nil] how long a reused connection lay idle
    attr_reader :idle_ns
    # @return [String, nil] host and port of the proxy that the connection goes through, or would have
    attr_reader :proxy
    # @return [KernelEvidence, nil] nil without TCP_INFO, and where the answer came within a millisecond
    attr_reader :kernel
    # @return [Integer, nil] status code of the final response
    attr_reader :status

    # What follows is set while the request runs.

    # @api private
    attr_accessor :hooks, :request

    # @api private
    attr_reader :request_end, :response_start, :in_io

    # @api private
    attr_writer :resend, :proxy, :kernel, :connected_at, :tls_start, :tls_end, :awaiting

    # All variables are set here, in one order: from Ruby 3.2 on, an object that gets them in many orders becomes slow.
    # @param origin [String] scheme, host and port
    # @param hooks [Array<#call>]
    # @api private
    def initialize(origin, hooks) # rubocop:disable Metrics/AbcSize
      @origin = origin
      @hooks = hooks
      @request = @path = @status = @outcome = @error_kind = @error_phase = @resend = nil
      @conn_id = @conn_requests = @idle_ns = @proxy = @kernel = @connecting = @connected_at = nil
      @tls_start = @tls_end = @request_start = @request_end = @response_start = @headers_end = @response_end = nil
      @last_byte = @ended = @in_io = @awaiting = @in_body = @body_bytes = nil
      @http_method = NO_METHOD
      @sent_bytes = @sent_writes = 0
      @started_at_unix_ns = Clock.clock_gettime(Process::CLOCK_REALTIME, :nanosecond)
      @started_at_mono_ns = Clock.clock_gettime(Clock::MONOTONIC, :nanosecond)
    end

    # @return [String] scheme, host, port if it is not the scheme's own, and path; no user, password, query or fragment
    def url
      return @origin if @path.nil? || @path.empty?
      return @origin + @path if @path.start_with?("/")

      @path.include?("://") ? @path : "#{@origin}/#{@path}"
    end

    # @return [Boolean, nil] whether the connection carried a request before
    def reused
      @conn_requests && @conn_requests > 1
    end

    # @return [Integer, nil] bytes of the request that were handed to the kernel
    def bytes_sent
      @sent_bytes if @sent_writes > 0
    end

    # @return [Integer, nil] writes they were handed over in
    def writes
      @sent_writes if @sent_writes > 0
    end

    # @return [Integer, nil] bytes of the body that were read from the connection, before they are inflated
    def bytes_received
      @body_bytes || (0 if @response_end)
    end

    # @return [Integer, nil] DNS, TCP handshake, and the CONNECT exchange with a proxy
    def connect_ns
      span(@started_at_mono_ns, @tls_start || @connected_at) if @connecting
    end

    # @return [Integer, nil]
    def tls_ns
      span(@tls_start, @tls_end)
    end

    # @return [Integer, nil] from the first byte handed to the kernel to the return of the last write
    def send_ns
      span(@request_start, @request_end)
    end

    # @return [Integer, nil] from the last write to the first byte of the final response; nil where that came earlier
    def wait_ns
      span(@request_end, @response_start) unless @response_start.to_i.between?(1, @request_end.to_i)
    end

    # @return [Integer, nil] from the first byte of the response to the last byte of its body
    def receive_ns
      span(@response_start, @response_end)
    end

    # @return [Integer] from start to end
    def total_ns
      span(@started_at_mono_ns, @ended)
    end

    # The rule is that of all languages (spec/testdata/causes.json).
    # @return [Symbol, nil] why a wait of 20 ms or more was long: :nagle_delayed_ack, :retransmit, :peer_window, :client (the
    #   answer was here, and the program did other things) or :server
    def cause
      @kernel.cause(@sent_writes) if @kernel
    end

    # @return [Array(Array(Symbol, Integer))] name and monotonic time of each moment
    def events
      { connect_start: (@started_at_mono_ns if @connecting), connect_end: (@tls_start || @connected_at if @connecting),
        tls_start: @tls_start, tls_end: @tls_end,
        connection_acquired: (@connected_at || @started_at_mono_ns if @conn_id),
        request_start: @request_start, request_end: @request_end, response_start: @response_start,
        headers_end: @headers_end || @response_end || (@last_byte if @outcome == :ok),
        response_end: @response_end, connection_released: (@ended if @conn_id) }.select { |_, time| time }.to_a
    end

    # @return [Hash{Symbol => Object}] the fields, without what is nil
    def to_h
      values = FIELDS.map { |name| [name, name == :method ? @http_method : public_send(name)] }
      hash = Hash[values].reject { |_, value| value.nil? }
      hash[:kernel] = @kernel.to_h if @kernel
      hash
    end

    # @return [String] one line for people, in the form of all languages (spec/testdata/text_form.json)
    def to_s
      text = [http_method, url, status, failure].compact.join(" ").lstrip
      text += " in #{milliseconds(total_ns)} ms"
      text += " via proxy #{proxy}" if proxy
      phases = PHASES.map { |name| phase_text(name) }.compact
      text += ": #{phases.join(", ")}" unless phases.empty?
      text += "; #{reused ? "reused" : "new"} conn #{conn_id}" if conn_id
      text += "; resend #{resend}" if resend
      text
    end

    # @return [String]
    def inspect
      "#<#{self.class} #{@outcome ? self : "under way"}>"
    end

    # The first request of a connection that `start` opened begins. The times of connecting move to right before it: what the
    # program did in between is no part of the request.
    # @api private
    def begin_request
      pause = Clock.now - @connected_at
      @started_at_unix_ns += pause
      @started_at_mono_ns += pause
      @connected_at += pause
      return unless @tls_start

      @tls_start += pause
      @tls_end += pause
    end

    # It has a connection.
    # @param opened [Boolean] whether for this request
    # @param idle_since [Float, Time, nil] as the library keeps it: seconds of the monotonic clock, a Time before Ruby 2.3
    # @api private
    def begin_on(conn_id, requests, proxy, opened, idle_since)
      @conn_id = conn_id
      @conn_requests = requests
      @proxy = proxy
      @connecting = true if opened
      return unless idle_since && !opened

      now = Float === idle_since ? @started_at_mono_ns : @started_at_unix_ns
      idle = now - (idle_since.to_f * 1_000_000_000).to_i
      @idle_ns = idle > 0 ? idle : 0
    end

    # @api private
    def begin_write
      @request_start ||= Clock.clock_gettime(Clock::MONOTONIC, :nanosecond)
      @awaiting = nil
      @in_io = true
    end

    # @api private
    def end_write(bytes, writes)
      return if frozen? # ended by another Fiber of the session

      @request_end = Clock.clock_gettime(Clock::MONOTONIC, :nanosecond)
      @in_io = false
      @sent_bytes += bytes
      @sent_writes += writes
    end

    # The library may still read an answer that the server gave early.
    # @api private
    def fail_write
      @request_end = Clock.now unless frozen?
    end

    # @return [Boolean, nil] whether it reads the body
    # @api private
    def begin_read
      @in_io = true unless frozen?
      @in_body
    end

    # @param body_bytes [Integer] how many of the bytes read are the body's
    # @return [Boolean, nil] whether these are the first bytes of an answer that took long enough to ask the kernel
    # @api private
    def end_read(body_bytes)
      return if frozen?

      @last_byte = Clock.clock_gettime(Clock::MONOTONIC, :nanosecond)
      @in_io = false
      @body_bytes += body_bytes if @in_body
      return if @response_start

      @response_start = @last_byte
      @request_end && @last_byte - @request_end >= SOON_NS
    end

    # As of an answer without a length.
    # @api private
    def end_of_connection
      return if frozen?

      @in_io = false
      @last_byte = Clock.now if @response_start
    end

    # An interim answer does not end the wait.
    # @param line [String] the first of an answer
    # @api private
    def read_status(line)
      return if frozen? # ended by another thread of the session

      at = line.index(" ") || line.index("\t")
      status = at ? line[at, 6].to_i : 0
      if status >= 200
        @status = status
        @response_start ||= @last_byte # it came together with an interim answer
      elsif status >= 100
        @response_start = @kernel = nil
      end
    end

    # @api private
    def end_headers
      @headers_end ||= @last_byte
      nil
    end

    # @param buffered [Integer] bytes that were read before, not yet taken
    # @api private
    def begin_body(buffered)
      return if frozen?

      @headers_end ||= @last_byte
      @in_body = true
      @body_bytes = @body_bytes.to_i + buffered
    end

    # @param buffered [Integer] bytes that were read and are not of this body, or not of this chunk
    # @api private
    def end_body(buffered)
      return if frozen? # ended by a request in the program's block

      @in_body = false
      @body_bytes -= buffered
    end

    # It ended as the library ends it.
    # @api private
    def finish
      @response_end = @last_byte
      seal(:ok)
    end

    # It ended in another way.
    # @param error [Exception, nil] nil where the program left it by `break`, `return` or `throw`
    # @param complete [Boolean] whether the whole answer was read
    # @api private
    def abandon(error, complete)
      @response_end = @last_byte if complete
      return seal(:ok) unless error || @status.nil? || @in_io

      outcome = error && program_error?(error) ? :error : :cancelled
      @error_phase = last_phase
      @request_end = nil if @error_phase == :send # the last write was not the last
      @error_kind = outcome == :error ? ErrorKind.of(error, @error_phase) : :cancelled
      seal(outcome)
    end

    # No connection could be had.
    # @param connecting [Boolean] whether one was being made
    # @api private
    def fail_to_connect(error, connecting)
      @connecting = connecting
      abandon(error, false)
    end

    private

    # Nothing is kept but plain values, of which the program may change none later. The target is cut before its query, so that no
    # form of the record can have it.
    def seal(outcome)
      @outcome = outcome
      @ended = Clock.clock_gettime(Clock::MONOTONIC, :nanosecond)
      request = @request
      @hooks = @request = @in_io = @awaiting = @in_body = nil
      if request
        @http_method = NO_METHOD + request.method
        path = request.path
        if String === path
          query = path.index(/[?#]/)
          path = path[0, query] if query
          @path = path.getbyte(0) == 47 ? path : path.sub(ABSOLUTE, '\1') # 47 is a slash
        end
      end
      freeze
    rescue StandardError # of a mock, or of a String in an odd encoding
      freeze
    end

    # What stops a thread, a task or the process is no error of the request.
    def program_error?(error)
      case error
      when StandardError, ScriptError, NoMemoryError, SecurityError, SystemStackError then true
      else false
      end
    end

    def last_phase
      return (@tls_start ? :tls : (:connect if @connecting)) unless @conn_id
      return nil if @response_end || @request_start.nil?
      return :receive if @response_start

      @awaiting ? :wait : :send
    end

    # A phase that happened is at least 1 ns, even where the clock did not advance.
    def span(from, to)
      to ||= @ended if @error_phase
      [to - from, 1].max if from && to
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
      return text unless name == :wait && (why = cause)

      shares = { held: @kernel.send_hold_ns, unread: @kernel.unread_ns, rest: @kernel.rest_ns }
      "#{text} (#{why}: #{shares.map { |share, time| "#{share} #{milliseconds(time)}" }.join(", ")})"
    end

    def milliseconds(nanoseconds)
      format("%.1f", nanoseconds / 1e6)
    end
  end
end
