# frozen_string_literal: true

require "socket"

module Onewrite
  # Linux's counters of a connection (tcp(7) TCP_INFO; struct tcp_info of include/uapi/linux/tcp.h). The bytes are kept as
  # the kernel returned them and decoded when they are asked for.
  class TcpInfo
    AVAILABLE = RUBY_ENGINE == "ruby" && RUBY_PLATFORM.include?("linux") && Socket.const_defined?(:TCP_INFO)

    # Fields up to here (total_retrans) are in every kernel; data_segs_out came with 4.6, rwnd_limited with 4.10.
    SMALLEST = 104

    # @return [String, nil] the counters of *io* as the kernel gives them, for {#initialize}; nil where the socket has none
    def self.read(io)
      return nil unless AVAILABLE && io.is_a?(BasicSocket)

      data = io.getsockopt(Socket::IPPROTO_TCP, Socket::TCP_INFO).data
      data.bytesize >= SMALLEST ? data : nil
    rescue SystemCallError, IOError
      nil
    end

    # @param data [String] what {read} gave
    def initialize(data)
      @data = data
    end

    # @return [Integer] how long ago the kernel last sent data, in nanoseconds; a jiffy's resolution (4 ms at HZ=250)
    def last_data_sent_ns
      u32(44) * 1_000_000
    end

    # @return [Integer] smoothed round trip, in microseconds
    def rtt_us
      u32(68)
    end

    # @return [Integer, nil] smallest round trip seen, in microseconds
    def min_rtt_us
      u32(148)
    end

    # @return [Integer] segments sent again since the connection began
    def retransmits
      u32(100)
    end

    # @return [Integer, nil] segments with data sent since the connection began
    def segments_out
      u32(156)
    end

    # @return [Integer, nil] time in which the peer's window held sending up, in microseconds
    def rwnd_limited_us
      @data.bytesize >= 184 ? @data.unpack("@176Q").first : nil
    end

    private

    def u32(offset)
      @data.bytesize >= offset + 4 ? @data.unpack("@#{offset}L").first : nil
    end
  end

  # What the kernel did with one request: the difference of TCP_INFO before the request and at the first byte of the answer.
  class KernelEvidence
    # @param exact [Boolean] whether *before* was read after the request before this one, and not earlier
    # @api private
    def initialize(before, after, wait_ns, exact)
      @before = TcpInfo.new(before)
      @after = TcpInfo.new(after)
      @wait_ns = wait_ns
      @exact = exact
    end

    # @return [Integer, nil] data segments sent for this request; nil where the requests before it were answered so soon that
    #   no counters were read
    def segments_out
      @after.segments_out - @before.segments_out if @exact && @after.segments_out
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
      hold > 0 ? hold : 0
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
      }.reject { |_, value| value.nil? }
    end
  end
end
