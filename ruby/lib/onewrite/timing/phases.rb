# frozen_string_literal: true

require "onewrite/timing/cause"
require "onewrite/timing/kernel"
require "onewrite/timing/server_timing"

module Onewrite
  # Connection, phases and kernel evidence of one attempt, computed from its {Moments} when they are asked for. A {Timing}
  # answers for its last attempt, an {Attempt} for itself.
  module Phases
    # Shorter waits have no cause.
    LONG_NS = Cause::LONG_NS

    # @return [Symbol] :ok, :error or :cancelled
    def outcome
      @moments.outcome
    end

    # @return [Integer, nil] status code of the final response
    def status
      @moments.status
    end

    # @return [Integer, nil] the connection's number in this process
    def conn_id
      @moments.conn_id
    end

    # @return [Integer, nil] requests on the connection, this one included
    def conn_requests
      @moments.conn_requests
    end

    # @return [Boolean, nil] whether the connection carried a request before
    def reused
      conn_requests && conn_requests > 1
    end

    # @return [Integer, nil] how long a reused connection lay idle
    def idle_ns
      (@moments.acquired || @moments.attempt_started) - @moments.idle_since if reused && @moments.idle_since
    end

    # @return [Integer, nil] bytes of the request handed over
    def bytes_sent
      @moments.request_end && @moments.bytes_sent
    end

    # @return [Integer, nil] writes they were handed over in
    def writes
      @moments.request_end && @moments.writes
    end

    # @return [Integer, nil] bytes of the response body: as announced, else as the caller got them
    def bytes_received
      bytes = @moments.bytes_received
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
      distance(@moments.connect_start, @moments.connect_end)
    end

    # @return [Integer, nil]
    def tls_ns
      distance(@moments.tls_start, @moments.tls_end)
    end

    # @return [Integer, nil] from the first byte handed to the kernel to the return of the last write
    def send_ns
      distance(@moments.request_start, @moments.request_end)
    end

    # @return [Integer, nil] from the last write to the first byte of the final response
    def wait_ns
      distance(@moments.request_end, @moments.response_start)
    end

    # @return [Integer, nil] from the first byte of the response to the last byte of its body
    def receive_ns
      distance(@moments.response_start, @moments.response_end)
    end

    # @return [Array<ServerTiming>, nil] what the response's Server-Timing says; nil where it says nothing
    def server_timing
      fields = @moments.server_timing_fields
      entries = fields && ServerTiming.parse(fields)
      entries unless entries.nil? || entries.empty?
    end

    # @return [Integer, nil] how much of the wait the server claims in Server-Timing: its entry `total`, else its longest
    #   one; nil where that is 0 or longer than the wait
    def server_ns
      entries = server_timing
      entries && ServerTiming.server_ns(entries, wait_ns)
    end

    # @return [Integer, nil] what of the wait the server does not claim: the network, proxies on the way, queues before the
    #   server's clock started; nil without {server_ns}, and where nothing is left
    def network_ns
      claimed = server_ns
      wait_ns - claimed if claimed && wait_ns > claimed
    end

    # @return [KernelEvidence, nil] nil without TCP_INFO or without a response
    def kernel
      m = @moments
      after = m.counters_answered || m.counters_sent
      return nil unless after && m.counters_before && m.request_end && m.response_start

      # Counters read after the last write, with everything sent: nothing was held then.
      KernelEvidence.new(m.counters_before, after, m.counters_answered ? m.response_start - m.request_end : 0)
    end

    # Why the wait was long, from the kernel's evidence; nil for waits under 20 ms.
    # @return [Symbol, nil] :nagle_delayed_ack, :retransmit, :peer_window or :server
    def cause
      wait = wait_ns
      return nil if wait.nil? || wait < LONG_NS

      evidence = kernel
      evidence && Cause.of(evidence, writes, @moments.nodelay)
    end

    # @param name [Symbol] such as :request_start
    # @return [Integer, nil] when it was, by the monotonic clock
    # @api private
    def moment(name)
      @moments[name]
    end

    private

    # A phase that happened is at least 1 ns, even where the clock did not advance.
    def distance(from, to)
      return nil unless from && to

      to > from ? to - from : 1
    end
  end
end
