# frozen_string_literal: true

module Onewrite
  # Marks the errors of this gem. Errors of Net::HTTP pass through unchanged.
  module Error; end

  # A request that was refused before a byte of it was sent; the message says what to change. What Net::HTTP itself
  # refuses, CR or LF in method or path, is refused with its class, ArgumentError, marked with {Error}: `rescue
  # ArgumentError` gets both. (RFC 9110 §5.5, RFC 9112 §6 and §11)
  class InvalidRequest < ArgumentError
    include Error
  end

  # A body that turned out shorter or longer than its Content-Length while it was being sent. The connection is closed:
  # its other end could not tell where the next request begins. (RFC 9112 §6.3)
  class BodyLengthError < StandardError
    include Error
  end

  # An option that does not exist, or a value it cannot have.
  class ConfigurationError < ArgumentError
    include Error
  end
end
