# frozen_string_literal: true

require "net/http"
require "openssl"
require "socket"

# Maps an error of Net::HTTP to a kind of the contract, as well as that is possible from outside.
module Failures
  module_function

  # @param stage [Symbol, nil] the stage that the request had reached
  # @return [Array(String, String)] kind and phase; the phase may be nil
  def classify(error, stage)
    phase = stage&.to_s
    case error
    when Sessions::PoolTimeout then %w[pool queue]
    when SocketError then %w[dns connect]
    when Net::OpenTimeout then %w[timeout connect]
    when Timeout::Error then ["timeout", written?(error) ? phase : "send"]
    when OpenSSL::SSL::SSLError then %w[tls tls]
    when SystemCallError then [stage == :connect ? "connect" : system_call(error), phase]
    when EOFError then ["closed", phase]
    when Net::HTTPBadResponse, Net::HTTPHeaderSyntaxError then ["protocol", phase]
    when Net::ProtocolError then [stage == :connect ? "connect" : "protocol", phase] # a proxy refused
    else ["other", nil] # refused before a byte was sent, most often
    end
  end

  def system_call(error)
    case error
    when Errno::ECONNRESET then "reset"
    when Errno::EPIPE then "closed"
    else "connect"
    end
  end

  # Net::WriteTimeout exists from Ruby 2.6 on.
  def written?(error)
    error.class.ancestors.none? { |parent| parent.to_s == "Net::WriteTimeout" }
  end
end
