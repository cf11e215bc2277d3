# frozen_string_literal: true

module Onewrite
  # Marks the errors of this gem. Errors of Net::HTTP pass through unchanged.
  module Error; end

  # An option that does not exist, or a value it cannot have.
  class ConfigurationError < ArgumentError
    include Error
  end

  # A listener sends a request on the session whose call it listens to. The connection is not free before the call has ended:
  # send in `on_timing`, or on a session of its own.
  class SessionInUseError < StandardError
    include Error

    def initialize(message = "a listener sent a request on the session that is being timed; use on_timing, or another session")
      super
    end
  end

  # Maps the errors of Net::HTTP to the error kinds of the timing model.
  module ErrorKind
    # @return [Symbol] one of the error kinds of the timing model
    def self.kind(error, phase)
      case error
      when Timeout::Error, Errno::ETIMEDOUT then :timeout
      when SocketError then :dns
      when Errno::ECONNRESET, Errno::ECONNABORTED then phase == :connect ? :connect : :reset
      when Errno::EPIPE then :closed
      when EOFError then phase == :connect ? :connect : :closed
      when SystemCallError then phase == :connect ? :connect : :other
      else by_name(error, phase)
      end
    rescue Exception # rubocop:disable Lint/RescueException -- the error's own methods may raise
      :other
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
