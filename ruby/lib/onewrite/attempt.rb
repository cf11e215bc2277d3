# frozen_string_literal: true

require "onewrite/kernel_evidence"
require "onewrite/nodelay"

module Onewrite
  # One attempt of a call: the moments as they were taken, and the phases between them.
  class Attempt
    # The rule for causes speaks of waits and holds from here on.
    LONG_NS = 20_000_000

    # @return [Integer] 0, 1, …
    attr_reader :index
    # @return [Symbol] :ok, :error or :cancelled
    attr_reader :outcome
    # @return [Integer, nil] status code of the final response
    attr_reader :status
    # @return [Integer, nil] the connection's number in this process
    attr_reader :conn_id
    # @return [Boolean, nil] whether the connection carried a request before
    attr_reader :reused
    # @return [Integer, nil] how long a reused connection lay idle
    attr_reader :idle_ns
    # @return [Integer, nil] requests on the connection, this one included
    attr_reader :conn_requests
    # @return [Integer, nil] bytes of the request handed over
    attr_reader :bytes_sent
    # @return [Integer, nil] writes they were handed over in
    attr_reader :writes
    # Moments, as {Call} takes them.
    # @api private
    attr_accessor :started, :connect_start, :connect_end, :tls_start, :tls_end, :request_start
    # @api private
    attr_reader :request_end, :response_start, :response_end

    # What has not happened has no variable at all: to set twenty to nil would cost more than the rest of this.
    # @api private
    def initialize(index, started)
      @index = index
      @started = started
    end

    # @api private
    def acquire(connection, now)
      @conn_id = connection.id
      @conn_requests = connection.requests
      @reused = @conn_requests > 1
      @idle_ns = now - connection.idle_since if @reused && connection.idle_since
      @baseline = connection.info
    end

    # @api private
    def written(now, bytes, writes)
      @request_end = now
      @bytes_sent = bytes
      @writes = writes
    end

    # @param io [IO, nil] the socket, to be asked whether TCP_NODELAY is on; only a long wait makes that worth a system call
    # @api private
    def answered(now, status, info, io = nil)
      @response_start = now
      @status = status
      @info = info
      @nodelay = Nodelay.on?(io) if info && request_end && now - request_end >= LONG_NS
    end

    # @api private
    def received(now, bytes)
      @response_end = now
      @received_bytes = bytes
    end

    # @api private
    def end(now, outcome)
      @ended = now
      @outcome = outcome
      freeze
    end

    # @return [Integer, nil] bytes of the response body: as announced, else as the caller got them
    def bytes_received
      bytes = received_bytes
      bytes.is_a?(String) ? bytes.to_i : bytes
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
      distance(connect_start, connect_end)
    end

    # @return [Integer, nil]
    def tls_ns
      distance(tls_start, tls_end)
    end

    # @return [Integer, nil] from the first byte handed to the kernel to the return of the last write
    def send_ns
      distance(request_start, request_end)
    end

    # @return [Integer, nil] from the last write to the first line of the final response
    def wait_ns
      distance(request_end, response_start)
    end

    # @return [Integer, nil] from the first line of the response to the last byte of its body
    def receive_ns
      distance(response_start, response_end)
    end

    # @return [Integer]
    def total_ns
      distance(@started, @ended)
    end

    # @return [KernelEvidence, nil] nil without TCP_INFO or without a response
    def kernel
      return nil unless info && baseline && request_end

      KernelEvidence.new(baseline, info, response_start - request_end)
    end

    # Why the wait was long, from the kernel's evidence; nil for waits under 20 ms.
    # @return [Symbol, nil] :nagle_delayed_ack, :retransmit, :peer_window or :server
    def cause
      wait = wait_ns
      return nil if wait.nil? || wait < LONG_NS

      evidence = kernel
      return nil unless evidence

      hold = evidence.send_hold_ns
      return :server if hold < LONG_NS
      # A closed window before a lost segment: the kernel's probes of it count as segments sent again.
      return :peer_window if evidence.window_closed_ns > hold / 2
      return :retransmit if evidence.retransmits.positive?

      # Nagle holds a small segment behind another: one write alone is none, and with TCP_NODELAY nothing is held. Then
      # it was pacing, a queue or the network.
      writes.to_i > 1 && nodelay == false ? :nagle_delayed_ack : nil
    end

    # @return [Hash{Symbol => Object}] without what is nil
    def to_h
      {
        index: index, outcome: outcome, status: status, conn_id: conn_id, reused: reused, idle_ns: idle_ns,
        conn_requests: conn_requests, bytes_sent: bytes_sent, writes: writes, bytes_received: bytes_received,
        connect_ns: connect_ns, tls_ns: tls_ns, send_ns: send_ns, wait_ns: wait_ns, receive_ns: receive_ns,
        total_ns: total_ns, kernel: kernel&.to_h, cause: cause
      }.compact
    end

    private

    # Readers, since a variable that was never set is warned of before Ruby 3.0.
    attr_reader :info, :baseline, :received_bytes, :nodelay

    # What happened took time: a distance the clock cannot resolve is 1.
    def distance(from, to)
      return nil unless from && to

      to > from ? to - from : 1
    end
  end
end
