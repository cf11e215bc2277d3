# frozen_string_literal: true

module Onewrite
  # Marks the errors of this gem. Errors of Net::HTTP pass through unchanged.
  module Error; end

  # A request that was refused before a byte of it was sent; the message says what to change. CR or LF in method or path,
  # which Net::HTTP itself refuses, raises a plain ArgumentError as there, marked with {Error}: `rescue ArgumentError` gets
  # both. (RFC 9110 §5.5, RFC 9112 §6 and §11)
  class InvalidRequest < ArgumentError
    include Error
  end

  # A body that turned out shorter or longer than its Content-Length while it was being sent. The connection is closed,
  # because the server could not tell where the next request begins. (RFC 9112 §6.3)
  class BodyLengthError < StandardError
    include Error
  end

  # An option that does not exist, or a value it cannot have.
  class ConfigurationError < ArgumentError
    include Error
  end

  # Maps the errors of Net::HTTP to the error kinds of the timing model.
  module ErrorKind
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

    # Compared by name, because these classes may not be loaded.
    def self.by_name(error, phase)
      names = error.class.ancestors.map(&:to_s)
      if names.include?("OpenSSL::SSL::SSLError")
        return phase == :tls || error.message !~ /unexpected eof|EOF/ ? :tls : :closed
      end
      return :connect if phase == :connect && names.include?("Net::ProtocolError") # the proxy refused the tunnel

      (names & PROTOCOL).empty? ? :other : :protocol
    end
    private_class_method :by_name
  end
end
