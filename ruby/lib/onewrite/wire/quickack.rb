# frozen_string_literal: true

require "socket"

module Onewrite
  # TCP_QUICKACK (Linux). Not permanent (tcp(7)): asked for after each request is written, so that an answer that comes
  # in two writes from a server with Nagle on is not kept waiting for our acknowledgement.
  module Quickack
    AVAILABLE = Socket.const_defined?(:TCP_QUICKACK)

    # @param io [IO]
    def self.ask(io)
      return unless AVAILABLE && io.is_a?(BasicSocket)

      io.setsockopt(Socket::IPPROTO_TCP, Socket::TCP_QUICKACK, 1)
    rescue SystemCallError
      nil # an optimisation that this socket does not have
    end
  end
end
