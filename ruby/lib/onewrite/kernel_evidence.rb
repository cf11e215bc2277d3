# frozen_string_literal: true

require "onewrite/tcp_info"

module Onewrite
  # What the kernel did with one request: two looks at TCP_INFO, before the request and at the first line of the answer.
  class KernelEvidence
    # @api private
    def initialize(before, after, wait_ns)
      @before = TcpInfo.new(before)
      @after = TcpInfo.new(after)
      @wait_ns = wait_ns
    end

    # @return [Integer, nil] data segments sent for this request
    def segments_out
      @after.segments_out && (@after.segments_out - @before.segments_out)
    end

    # @return [Integer] smoothed round trip
    def rtt_us
      @after.rtt_us
    end

    # @return [Integer, nil] smallest round trip
    def min_rtt_us
      @after.min_rtt_us
    end

    # @return [Integer] segments sent again since this request began
    def retransmits
      @after.retransmits - @before.retransmits
    end

    # @return [Integer] how long the kernel held bytes back after the last write had returned: the wait less the time
    #   since it last sent data. Resolution of a jiffy; never below 0.
    def send_hold_ns
      hold = @wait_ns - @after.last_data_sent_ns
      hold.positive? ? hold : 0
    end

    # @return [Integer] how long the peer's receive window held sending up
    def window_closed_ns
      return 0 unless @after.rwnd_limited_us

      (@after.rwnd_limited_us - @before.rwnd_limited_us) * 1000
    end

    # @return [Hash{Symbol => Integer}]
    def to_h
      {
        segments_out: segments_out, rtt_us: rtt_us, min_rtt_us: min_rtt_us, retransmits: retransmits,
        send_hold_ns: send_hold_ns
      }.compact
    end
  end
end
