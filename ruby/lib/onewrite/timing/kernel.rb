# frozen_string_literal: true

require "socket"
require "onewrite/timing/events"

module Onewrite
  # Linux's counters of a connection (tcp(7) TCP_INFO).
  module TcpInfo
    AVAILABLE = RUBY_ENGINE == "ruby" && RUBY_PLATFORM.include?("linux") && Socket.const_defined?(:TCP_INFO)
    # Fields up to here (total_retrans) are in every kernel; data_segs_out came with 4.6, rwnd_limited with 4.10.
    SMALLEST = 104

    # @param tcp [BasicSocket, nil]
    # @return [String, nil] the counters as the kernel gives them; nil where the socket has none
    def self.read(tcp)
      return nil unless AVAILABLE && tcp

      data = tcp.getsockopt(Socket::IPPROTO_TCP, Socket::TCP_INFO).data
      data.bytesize >= SMALLEST ? data : nil
    rescue SystemCallError, IOError
      nil
    end
  end

  # What the kernel did with one request: the difference of TCP_INFO before the request and at the first byte of the answer.
  # The bytes are kept as the kernel returned them (struct tcp_info of include/uapi/linux/tcp.h) and decoded when they are
  # wanted.
  class KernelEvidence
    include Plain

    # @param exact [Boolean] whether *before* was read after the request before this one, and not earlier
    # @api private
    def initialize(before, after, wait_ns, exact)
      @before = before
      @after = after
      @wait_ns = wait_ns
      @exact = exact
    end

    # @return [Integer, nil] data segments sent for this request; nil where the requests before it were answered so soon that
    #   no counters were read
    def segments_out
      growth(156) if @exact
    end

    # @return [Integer] smoothed round trip
    def rtt_us
      read(@after, 68)
    end

    # @return [Integer, nil] smallest round trip
    def min_rtt_us
      read(@after, 148)
    end

    # @return [Integer] segments sent again since this request began
    def retransmits
      growth(100)
    end

    # @return [Integer] how long the kernel held bytes back after the last write had returned: the wait less the time
    #   since it last sent data. Resolution of a jiffy (4 ms at HZ=250); never below 0.
    def send_hold_ns
      hold = @wait_ns - (read(@after, 44) * 1_000_000)
      hold > 0 ? hold : 0
    end

    # @return [Integer] how long the peer's receive window held sending up
    def window_closed_ns
      growth(176, 8, "Q").to_i * 1000
    end

    # @return [Hash{Symbol => Integer}]
    def to_h
      Plain.known(segments_out: segments_out, rtt_us: rtt_us, min_rtt_us: min_rtt_us, retransmits: retransmits,
                  send_hold_ns: send_hold_ns)
    end

    private

    def read(data, offset, size = 4, type = "L")
      data.bytesize >= offset + size ? data.unpack("@#{offset}#{type}").first : nil
    end

    def growth(*field)
      after = read(@after, *field)
      after && (after - read(@before, *field))
    end
  end
end
