# frozen_string_literal: true

require "onewrite/config"
require "onewrite/net_http/connection"
require "onewrite/wire/body"
require "onewrite/wire/validate"

module Onewrite
  module NetHTTP
    # For Net::HTTPGenericRequest: checks requests and writes them.
    #
    # Net::BufferedIO is not patched, because SMTP and POP use it, too.
    module Request
      # Checks a body that is no String.
      # @raise [InvalidRequest] where the request must not be sent as it is
      # @api private
      def onewrite_check_body # :nodoc:
        @onewrite_lost = nil
        header = @header
        return onewrite_check_form if @body_data
        return unless header["content-length"]

        return if (chunked? || !@body_stream) && onewrite_drop_length

        size = @body_stream ? (Wire::Body.rest(@body_stream) unless chunked?) : 0
        Wire::Validate.check_framing(header, size)
      end

      # @return [Exception, nil] why the first attempt to send this body stream failed
      # @api private
      attr_accessor :onewrite_lost # :nodoc:

      # Writes the request.
      #
      # Why this method: it writes every request and gets the socket as an argument, so it is enough to pass {Wire::HeldSocket}
      # instead. It has the same parameters from Ruby 1.9.3 to net-http 0.9. No code of the library is repeated.
      # Not reached: code that calls `exec` with its own socket, as ssrf_filter does with a StringIO; it is left as it is.
      def exec(sock, ver, path) # :nodoc:
        connection = Connection.of(sock)
        settings = Config.current
        # A request without a body is one write already.
        unless connection && settings.enabled && (@body || @body_stream || @body_data || connection.call || settings.quickack)
          return onewrite_stock_exec(sock, ver, path)
        end

        connection.note_error_for(self) if @body_stream
        begin
          connection.write_request(settings, (onewrite_announced unless @body), (onewrite_waits unless @body)) do |held|
            onewrite_stock_exec(held, ver, path)
          end
        ensure
          @onewrite_length = @header["content-length"] if @body || (@body_data && !chunked?) # the library has set it
        end
      end

      private

      # @return [Array<String>, nil] the Content-Length that Net::HTTP set when this request was last written, as the header
      #   keeps it
      attr_reader :onewrite_length

      # A url-encoded form needs no check: it becomes a String body.
      def onewrite_check_form
        return unless Wire::Body::MULTIPART =~ content_type.to_s

        # `each` of any other object may work only once.
        @body_data = @body_data.to_enum(:each).to_a unless @body_data.is_a?(Array) || @body_data.is_a?(Hash)
        Wire::Validate.check_form(@body_data, @form_option || {})
        Wire::Validate.check_framing(@header, nil) if chunked? && !onewrite_drop_length
      end

      # Deletes a Content-Length that Net::HTTP set when the same request object was sent before with another body.
      # @return [Boolean] whether there was one
      def onewrite_drop_length
        found = @header["content-length"]
        return false unless found && found.equal?(onewrite_length)

        @header.delete("content-length")
        true
      end

      # @return [Symbol, nil] how a body is written that may block, see {Wire::HeldSocket#write_request}. The server may need
      #   the head, or the first chunk, long before the next one.
      def onewrite_waits
        if @body_stream
          return if Wire::Body.source?(@body_stream)

          chunked? ? :chunk : :piece
        elsif @body_data && chunked? && Wire::Body::MULTIPART =~ content_type.to_s
          # Other forms are encoded before they are written.
          Wire::Body.form?(@body_data) ? nil : :piece
        end
      end

      # @return [Integer, nil] Content-Length of a body that is read from a source. For other bodies Net::HTTP computes it.
      def onewrite_announced
        content_length if @body_stream && !chunked?
      end
    end
  end
end
