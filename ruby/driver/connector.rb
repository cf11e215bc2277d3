# frozen_string_literal: true

require "net/http"
require "openssl"
require "socket"

# A user's own `connect`, as gems for SOCKS or Unix sockets write it: it opens the socket itself, sets no option on it
# and calls none of the hooks of Net::HTTP.
module Connector
  module_function

  # A subclass of *parent* with its own connect.
  def over(parent)
    Class.new(parent) do
      private

      def connect
        io = TCPSocket.open(address, port)
        io.setsockopt(Socket::IPPROTO_TCP, Socket::TCP_NODELAY, 0) if is_a?(Kinds::NagleHTTP)
        io = secured(io) if use_ssl?
        @socket = Net::BufferedIO.new(io)
        @socket.read_timeout = read_timeout
        @socket.continue_timeout = continue_timeout
        @last_communicated = nil
      end

      def secured(io)
        context = OpenSSL::SSL::SSLContext.new
        context.set_params(ca_file: ca_file)
        tls = OpenSSL::SSL::SSLSocket.new(io, context)
        tls.hostname = address
        tls.sync_close = true
        tls.connect
        tls.post_connection_check(address)
        tls
      end
    end
  end
end
