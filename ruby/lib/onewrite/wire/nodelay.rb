# frozen_string_literal: true

require "socket"

module Onewrite
  module Wire
    # TCP_NODELAY and TCP_QUICKACK of a connection.
    #
    # The file is kept to the syntax of Ruby 1.9 ({Legacy}).
    module Nodelay
      class << self
        # @param io [Object] of a Net::BufferedIO
        # @return [BasicSocket, nil] the TCP socket under it; nil for a Unix socket or an io that is no socket
        def tcp(io)
          io = io.to_io if Object === io && io.respond_to?(:to_io)
          io if BasicSocket === io && (TCPSocket === io || io.local_address.ip?)
        rescue SystemCallError, IOError
          nil
        end

        # @param tcp [BasicSocket, nil] as of {tcp}
        def set(tcp)
          tcp.setsockopt(Socket::IPPROTO_TCP, Socket::TCP_NODELAY, 1) if tcp
        rescue SystemCallError, IOError
          nil # as of a connection that the server has reset: the request fails as in the library
        end

        # @return [Boolean, nil] nil where it is unknown
        def on?(tcp)
          tcp.getsockopt(Socket::IPPROTO_TCP, Socket::TCP_NODELAY).bool if tcp
        rescue SystemCallError, IOError
          nil
        end

        # TCP_QUICKACK (Linux): acknowledge at once. A server with Nagle on that writes its answer in two pieces holds the second
        # until the first is acknowledged. The kernel resets the option (tcp(7)), so it is set after each request.
        def quickack(tcp)
          tcp.setsockopt(Socket::IPPROTO_TCP, Socket::TCP_QUICKACK, 1) if tcp && Socket.const_defined?(:TCP_QUICKACK)
        rescue SystemCallError, IOError
          nil
        end
      end
    end
  end
end
