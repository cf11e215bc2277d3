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

        # Sets the option and reads it back (JRuby cannot read it). Unix sockets, which have no such option, are skipped.
        def set(io, on)
          return unless BasicSocket === io && tcp?(io)

          io.setsockopt(Socket::IPPROTO_TCP, Socket::TCP_NODELAY, on ? 1 : 0)
          failed("it reads back as #{!on}") if on?(io) == !on
        rescue SystemCallError => e
          failed(e.class)
        end

        # @return [Boolean, nil] nil where it is unknown
        def on?(io)
          io.getsockopt(Socket::IPPROTO_TCP, Socket::TCP_NODELAY).bool if BasicSocket === io
        rescue SystemCallError, IOError
          nil
        end

        private

        def tcp?(io)
          io.local_address.ip?
        rescue SystemCallError
          false
        end

        def failed(why)
          return if (@failures += 1) > 1

          warn "onewrite: TCP_NODELAY could not be set (#{why}); requests go on, further failures are only counted"
        end
      end
    end
  end
end
