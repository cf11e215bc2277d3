# frozen_string_literal: true

require "socket"

module Onewrite
  module Wire
    # TCP_NODELAY for the connections of Net::HTTP.
    module Nodelay
      @failures = 0

      class << self
        # @return [Integer] connections whose socket did not take the option
        attr_reader :failures

        # @param io [Object] of a Net::BufferedIO
        # @return [BasicSocket, nil] the TCP socket under it; nil for a Unix socket or an io that is no socket
        def tcp(io)
          io = io.to_io if Object === io && io.respond_to?(:to_io)
          io if BasicSocket === io && (TCPSocket === io || io.local_address.ip?)
        rescue SystemCallError, IOError
          nil
        end

        # Sets the option and reads it back (JRuby cannot read it).
        # @param tcp [BasicSocket, nil] as of {tcp}
        def set(tcp, on)
          return unless tcp

          tcp.setsockopt(Socket::IPPROTO_TCP, Socket::TCP_NODELAY, on ? 1 : 0)
          failed("it reads back as #{!on}") if on?(tcp) == !on
        rescue SystemCallError => e
          failed(e.class)
        end

        # @return [Boolean, nil] nil where it is unknown
        def on?(tcp)
          tcp.getsockopt(Socket::IPPROTO_TCP, Socket::TCP_NODELAY).bool if tcp
        rescue SystemCallError, IOError
          nil
        end

        private

        def failed(why)
          return if (@failures += 1) > 1

          warn "onewrite: TCP_NODELAY could not be set (#{why}); requests go on, further failures are only counted"
        end
      end
    end
  end
end
