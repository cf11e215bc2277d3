# frozen_string_literal: true

module Onewrite
  # Maps the errors of Net::HTTP to the error kinds of the timing model (spec/testdata/error_kinds.json).
  module ErrorKind
    # Raised by Net::HTTP itself while it reads an answer. Compared by name, because not all of them are loaded.
    PROTOCOL = %w[Net::ProtocolError Net::HTTPBadResponse Net::HTTPHeaderSyntaxError Zlib::Error].freeze
    private_constant :PROTOCOL

    class << self
      # @param phase [Symbol, nil] in which the request failed
      # @return [Symbol]
      def of(error, phase)
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

      private

      def by_name(error, phase)
        names = error.class.ancestors.map(&:to_s)
        if names.include?("OpenSSL::SSL::SSLError")
          return phase == :tls || error.message !~ /unexpected eof|EOF/ ? :tls : :closed
        end
        return :connect if phase == :connect && names.include?("Net::ProtocolError") # the proxy refused the tunnel

        (names & PROTOCOL).empty? ? :other : :protocol
      end
    end
  end
end
