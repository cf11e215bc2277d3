# frozen_string_literal: true

require "onewrite/errors"

module Onewrite
  module Wire
    # Refuses unsafe requests before the first byte. Net::HTTP of Ruby 3.1 sends a header name with CR LF as two lines
    # (CWE-113), and Content-Length and Transfer-Encoding together (CWE-444).
    module Validate
      # RFC 9110 §5.6.2
      TOKEN = /\A[!\#$%&'*+\-.^_`|~0-9A-Za-z]+\z/.freeze
      # RFC 9112 §3.2: no controls and no space in a target.
      BAD_TARGET = /[\x00-\x20\x7f]/.freeze
      # RFC 9110 §5.5: no controls but the horizontal tab in a value.
      BAD_VALUE = /[\x00-\x08\x0a-\x1f\x7f]/.freeze
      # What must not be in a header field of a part.
      PART_BREAK = /[\r\n\0]/.freeze
      DIGITS = /\A[0-9]+\z/.freeze

      KNOWN_METHODS = %w[GET POST PUT DELETE HEAD PATCH OPTIONS TRACE].map { |name| [name, true] }.to_h.freeze

      # Header names known to be valid, each with its most frequent value: comparing with it is cheaper than a search.
      KNOWN_FIELDS = {
        "accept" => "*/*", "accept-encoding" => "gzip;q=1.0,deflate;q=0.6,identity;q=0.3", "user-agent" => "Ruby",
        "content-type" => "application/json", "connection" => "close", "host" => "", "content-length" => "0",
        "authorization" => "", "transfer-encoding" => "chunked"
      }.freeze

      module_function

      # @param header [Hash{String => Array<String>}] as Net::HTTPHeader keeps it
      # @raise [InvalidRequest]
      def check(method, path, header)
        refuse_invalid(method, path, header) unless plain?(method, path, header)
      end

      # Whether method, path and header are the usual ones and need no further check. Every request pays for this: it is one
      # pass that allocates nothing.
      def plain?(method, path, header)
        return false if !KNOWN_METHODS[method] || BAD_TARGET =~ path

        header.each do |name, values|
          usual = KNOWN_FIELDS[name]
          return false unless usual && values.size == 1

          value = values[0]
          return false if value != usual && BAD_VALUE =~ value
        end
        true
      rescue StandardError
        false # bytes of no encoding, or no strings at all
      end

      def refuse_invalid(method, path, header)
        refuse_as_stock("A Request-Line must not contain CR or LF: percent-encode it") if line_break?(method) || line_break?(path)
        refuse("the method #{method.inspect} is not a token") unless token?(method)
        refuse("the path has a space or a control character: percent-encode it") if BAD_TARGET =~ path.b
        header.each do |name, values|
          refuse("the header name #{name.inspect} is not a token") unless token?(name)
          values.each do |value|
            next unless value.is_a?(String) && BAD_VALUE =~ value.b

            refuse("the value of the header #{name} has a control character: take it out")
          end
        end
      end

      # Content-Length and Transfer-Encoding of a body that is read from a source, or of a request without a body. A String
      # needs no check: Net::HTTP sets its length and deletes Transfer-Encoding.
      # @param rest [Integer, nil] size of the body in bytes, where it is known
      def check_framing(header, rest)
        lengths = header["content-length"]
        return unless lengths

        refuse("Content-Length and Transfer-Encoding exclude each other: set one of them") if header["transfer-encoding"]
        unless lengths.size == 1 && DIGITS =~ lengths.first.to_s
          refuse("Content-Length must be one number, not #{lengths.join(", ").inspect}")
        end
        return unless rest && lengths.first.to_i != rest

        refuse("Content-Length says #{lengths.first}, but the body has #{rest} bytes")
      end

      # Name, file name and type of each part of multipart/form-data, and the boundary: Net::HTTP writes them into the head
      # of the part as they are.
      # @param parts [Array, Hash] as given to set_form
      # @param options [Hash] its third argument
      def check_form(parts, options)
        refuse("the boundary of the form has a line break or NUL") if part_break?(options[:boundary])
        parts.each do |name, value, part|
          part = {} unless part.is_a?(Hash)
          file = part.fetch(:filename) { File.basename(value.to_path) if value.respond_to?(:to_path) }
          { "name" => name, "file name" => file, "content type" => (part[:content_type] if file) }.each do |what, text|
            refuse("the #{what} of a part of the form has a line break or NUL: take it out") if part_break?(text)
          end
        end
      end

      # The text may be of any encoding: Net::HTTP converts names where a charset was asked for.
      def part_break?(text)
        return false unless text.is_a?(String)

        text = text.encode(Encoding::UTF_8) unless text.encoding.ascii_compatible?
        !(PART_BREAK =~ text.b).nil?
      rescue EncodingError
        true # it cannot be searched
      end

      def token?(text)
        text.is_a?(String) && !(TOKEN =~ text.b).nil?
      end

      def line_break?(text)
        text.is_a?(String) && !(/[\r\n]/ =~ text.b).nil?
      end

      def refuse(message)
        raise InvalidRequest, message
      end

      # For requests that Net::HTTP refuses: the class is exactly the one that it raises.
      def refuse_as_stock(message)
        raise ArgumentError.new(message).extend(Error)
      end
    end
  end
end
