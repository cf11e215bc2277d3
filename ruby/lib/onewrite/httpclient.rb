# frozen_string_literal: true

require "httpclient"
require "socket"
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

  Clients.add("httpclient", HTTPClient::VERSION, /\A2\.[89]\./) { |on| NodelayOfHTTPClient.on = on }
  session = HTTPClient::Session
  if session.method_defined?(:create_socket)
    session.prepend(NodelayOfHTTPClient)
  else
    warn "onewrite: this httpclient has no HTTPClient::Session#create_socket; it works as without onewrite"
  end
end
