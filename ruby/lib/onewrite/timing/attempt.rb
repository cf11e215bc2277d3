# frozen_string_literal: true

require "onewrite/timing/phases"

module Onewrite
  # One attempt of a call. Frozen.
  class Attempt
    include Phases

    # @param moments [Moments]
    # @api private
    def initialize(moments)
      @moments = moments.freeze
      freeze
    end

    # @return [Integer] 0, 1, …
    def index
      @moments.index
    end

    # @return [Integer]
    def total_ns
      distance(@moments.attempt_started, @moments.ended)
    end

    # @return [Hash{Symbol => Object}] without what is nil
    def to_h
      {
        index: index, outcome: outcome, status: status, conn_id: conn_id, reused: reused, idle_ns: idle_ns,
        conn_requests: conn_requests, bytes_sent: bytes_sent, writes: writes, bytes_received: bytes_received,
        connect_ns: connect_ns, tls_ns: tls_ns, send_ns: send_ns, wait_ns: wait_ns, receive_ns: receive_ns,
        total_ns: total_ns, kernel: (kernel && kernel.to_h), cause: cause,
        server_timing: (server_timing && server_timing.map(&:to_h)), server_ns: server_ns, network_ns: network_ns
      }.reject { |_, value| value.nil? }
    end
  end
end
