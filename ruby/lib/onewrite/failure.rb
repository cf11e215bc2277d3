# frozen_string_literal: true

require "onewrite/errors"

module Onewrite
  # Names the errors of Net::HTTP by the kinds of the timing model.
  module Failure
    # @return [Symbol] one of the error kinds of the timing model
    def self.kind(error, phase)
      case error
      when ArgumentError then error.is_a?(Error) ? :invalid_request : :other
      when Timeout::Error, Errno::ETIMEDOUT then :timeout
      when SocketError then :dns
      when Errno::ECONNRESET, Errno::ECONNABORTED then phase == :connect ? :connect : :reset
      when Errno::EPIPE then :closed
      when EOFError then phase == :connect ? :connect : :closed
      when SystemCallError then phase == :connect ? :connect : :other
      else by_name(error, phase)
      end
    end

    PROTOCOL = %w[Net::ProtocolError Net::HTTPBadResponse Net::HTTPHeaderSyntaxError Zlib::Error].freeze
    private_constant :PROTOCOL

    # Classes that may not be loaded are told by name.
    def self.by_name(error, phase)
      names = error.class.ancestors.map(&:to_s)
      if names.include?("OpenSSL::SSL::SSLError")
        return phase == :tls || !/unexpected eof|EOF/.match?(error.message) ? :tls : :closed
      end
      return :connect if phase == :connect && names.include?("Net::ProtocolError") # the proxy refused the tunnel

      (names & PROTOCOL).empty? ? :other : :protocol
    end
    private_class_method :by_name
  end
end
