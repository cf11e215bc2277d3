# frozen_string_literal: true

require "httpclient"
require "onewrite/api"
require "onewrite/clients"
require "onewrite/config"
require "onewrite/wire/nodelay"

# TCP_NODELAY for other clients.
module Onewrite
  # TCP_NODELAY for the connections of HTTPClient, which has no option for it.
  module NodelayOfHTTPClient
    # Makes the TCP socket, before TLS.
    def create_socket(*)
      socket = super
      Wire::Nodelay.set(Wire::Nodelay.tcp(socket), true) if Config.current.nodelay
      socket
    end
  end

  session = HTTPClient::Session
  able = session.method_defined?(:create_socket) || session.private_method_defined?(:create_socket)
  session.__send__(:prepend, NodelayOfHTTPClient) if able
  Clients.add("httpclient", HTTPClient::VERSION, able)
end
