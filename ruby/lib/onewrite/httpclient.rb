# frozen_string_literal: true

require "httpclient"
require "socket"
require "onewrite/api"
require "onewrite/clients"

# TCP_NODELAY for other clients.
module Onewrite
  # TCP_NODELAY for the connections of HTTPClient, which has no option for it.
  module NodelayOfHTTPClient
    class << self
      # @return [Boolean]
      attr_accessor :on
    end

    # Makes the TCP socket, before TLS.
    def create_socket(*)
      socket = super
      socket.setsockopt(Socket::IPPROTO_TCP, Socket::TCP_NODELAY, 1) if NodelayOfHTTPClient.on && socket.is_a?(TCPSocket)
      socket
    end
  end

  session = HTTPClient::Session
  able = session.method_defined?(:create_socket) || session.private_method_defined?(:create_socket)
  session.__send__(:prepend, NodelayOfHTTPClient) if able
  Clients.add("httpclient", HTTPClient::VERSION, able) { |on| NodelayOfHTTPClient.on = on }
end
