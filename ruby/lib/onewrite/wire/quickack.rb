# frozen_string_literal: true

require "socket"

module Onewrite
  module Wire
    # TCP_QUICKACK (Linux): acknowledge at once. A server with Nagle on that writes its answer in two pieces holds the second
    # until the first is acknowledged. The kernel resets the option (tcp(7)), so it is set after each request.
    module Quickack
      AVAILABLE = Socket.const_defined?(:TCP_QUICKACK)

      # @param tcp [BasicSocket, nil]
      def self.set(tcp)
        return unless AVAILABLE && tcp

        tcp.setsockopt(Socket::IPPROTO_TCP, Socket::TCP_QUICKACK, 1)
      rescue SystemCallError
        nil # this socket has no such option, and works without
      end
    end
  end
end
