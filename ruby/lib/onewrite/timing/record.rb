# frozen_string_literal: true

require "onewrite/timing/cause"
require "onewrite/timing/kernel"
require "onewrite/timing/live"
require "onewrite/timing/redact"

module Onewrite
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

    # @return [Integer, nil] bytes of the request handed over
    def bytes_sent
      @bytes_sent if @request_end
    end

    # @return [Integer, nil] writes they were handed over in
    def writes
      @writes if @request_end
    end

    # @return [nil] Net::HTTP has no pool that could be waited for
    def queue_ns
      nil
    end

    # @return [nil] the look-up of the name is part of {connect_ns}
    def dns_ns
      nil
    end

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

    # Why the wait was long, from the kernel's evidence; nil for waits under 20 ms.
    # @return [Symbol, nil] :nagle_delayed_ack, :retransmit, :peer_window or :server
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

    # @return [Integer, nil] when the attempt failed
    def cut
      @ended unless @outcome == :ok
    end

    # @return [Hash{Symbol => Object}] what a call and an attempt have in common
    def common
      {
        outcome: outcome, status: status, conn_id: conn_id, reused: reused, connect_ns: connect_ns, tls_ns: tls_ns,
        send_ns: send_ns, wait_ns: wait_ns, receive_ns: receive_ns, total_ns: total_ns, kernel: (kernel && kernel.to_h),
        cause: cause
      }
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
    # @api private
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
      known({ index: index }.merge(common).merge(
              idle_ns: idle_ns, conn_requests: conn_requests, bytes_sent: bytes_sent, writes: writes, bytes_received: bytes_received
            ))
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
      Redact.url(Redact.join(@tls, @address, @port, @path.to_s))
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
      known({ method: method, url: url, error_kind: error_kind, error_phase: error_phase, started_at_unix_ns: started_at_unix_ns,
              started_at_mono_ns: started_at_mono_ns }.merge(common).merge(attempts: attempts.map(&:to_h)))
    end

    # @return [String] the one line of {to_s}; the variables hold the URL with its secrets
    def inspect
      "#<#{self.class} #{self}>"
    end

    PHASES = %i[connect tls send wait receive].freeze
    private_constant :PHASES

    private

    # How a call ended that did not go well.
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
