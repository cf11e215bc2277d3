# frozen_string_literal: true

require "socket"

module Onewrite
  # Linux's counters of a connection (tcp(7) TCP_INFO).
  module TcpInfo
    AVAILABLE = RUBY_ENGINE == "ruby" && RUBY_PLATFORM.include?("linux") && Socket.const_defined?(:TCP_INFO)
    # Fields up to here (total_retrans) are in every kernel; data_segs_out came with 4.6, rwnd_limited with 4.10.
    SMALLEST = 104
    private_constant :SMALLEST

    # @param tcp [BasicSocket, nil]
    # @return [String, nil] struct tcp_info as the kernel gives it; nil where the socket has none
    def self.read(tcp)
      return nil unless AVAILABLE && tcp

      data = tcp.getsockopt(Socket::IPPROTO_TCP, Socket::TCP_INFO).data
      data.bytesize >= SMALLEST ? data : nil
    rescue SystemCallError, IOError
      nil
    end
  end

  # What the kernel did with one request: its counters before the request, and when the first byte of the answer was read. They
  # are decoded when they are wanted (include/uapi/linux/tcp.h).
  #
  # The wait has three shares: {send_hold_ns}, when the kernel held bytes of the request back; {unread_ns}, when the answer was
  # here and the program did other things; and the rest, with the network and the server.
  class KernelEvidence
    # A shorter wait has no cause.
    LONG_NS = 20_000_000

    # @param before [String] TCP_INFO of the last request that was answered late enough to read it, or of the connection's first
    # @param after [String] TCP_INFO at the first byte
    # @param read_after_ns [Integer] from the first byte to the reading of *after*
    # @param exact [Boolean] whether *before* was read after the request before this one, and not earlier
    # @param nodelay [Boolean, nil] TCP_NODELAY, nil where it is unknown
    # @api private
    def initialize(before, after, wait_ns, read_after_ns, exact, nodelay)
      @before = before
      @after = after
      @wait_ns = wait_ns
      @read_after_ns = read_after_ns
      @exact = exact
      @nodelay = nodelay
    end

    # @return [Integer, nil] data segments of this request; nil where requests before it were answered so soon that no counters
    #   were read
    def segments_out
      growth(156) if @exact
    end

    # @return [Integer] smoothed round trip
    def rtt_us
      field(@after, 68)
    end

    # @return [Integer, nil] smallest round trip
    def min_rtt_us
      field(@after, 148)
    end

    # @return [Integer] segments sent again
    def retransmits
      growth(100)
    end

    # @return [Integer] how long the kernel held bytes after the last write had returned; 0 to the wait, in steps of a jiffy
    def send_hold_ns
      share(@wait_ns - milliseconds(44))
    end

    # @return [Integer] how long the answer lay in the socket's buffer; 0 to the wait. More of it may have come later: at least.
    def unread_ns
      share(milliseconds(52) - @read_after_ns)
    end

    # @return [Integer] wait without the other two shares
    def rest_ns
      share(@wait_ns - send_hold_ns - unread_ns)
    end

    # The largest share names the cause; of equal shares the first.
    # @param writes [Integer] of the request
    # @return [Symbol, nil]
    def cause(writes)
      return nil if @wait_ns < LONG_NS

      held = send_hold_ns
      return :client if unread_ns > held && unread_ns >= rest_ns
      return :server if rest_ns > held

      # First, because the kernel counts probes of a closed window as retransmits.
      return :peer_window if growth(176, 8, "Q").to_i * 1000 > held / 2
      return :retransmit if retransmits > 0

      # Nagle's algorithm holds a small segment while another is unacknowledged. A single write has none before it, and with
      # TCP_NODELAY nothing is held: then it was pacing, a queue or the network.
      :nagle_delayed_ack if writes > 1 && @nodelay == false
    end

    # @return [Hash{Symbol => Integer}] without what is nil
    def to_h
      { segments_out: segments_out, rtt_us: rtt_us, min_rtt_us: min_rtt_us, retransmits: retransmits,
        send_hold_ns: send_hold_ns, unread_ns: unread_ns }.reject { |_, value| value.nil? }
    end

    private

    def share(nanoseconds)
      [[nanoseconds, 0].max, @wait_ns].min
    end

    def milliseconds(offset)
      field(@after, offset) * 1_000_000
    end

    def field(data, offset, size = 4, type = "L")
      data.unpack("@#{offset}#{type}").first if data.bytesize >= offset + size
    end

    def growth(*where)
      after = field(@after, *where)
      after && (after - field(@before, *where))
    end
  end
end
