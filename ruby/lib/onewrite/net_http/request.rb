# frozen_string_literal: true

require "onewrite/config"
require "onewrite/net_http/connection"
require "onewrite/net_http/stock"
require "onewrite/wire/body"
require "onewrite/wire/validate"

module Onewrite
  module NetHTTP
    # Prepended to Net::HTTPGenericRequest: writes requests with a body. A request without one is a single write already.
    #
    # Why these methods and not `exec`, which calls one of them: the second write is made here, and a GET does not pass here.
    # They are private, have the same parameters from Ruby 1.9.3 to net-http 0.9, and no known gem patches them. Each gets
    # the socket as an argument, so it is enough to pass {HeldSocket} instead; no code of the library is repeated.
    # Not reached: code that calls `exec` with its own socket, as ssrf_filter does with a StringIO; it is left as it is.
    #
    # Net::BufferedIO is not patched: SMTP and POP use it, too.
    module Request
      STOCK = Stock.new(Net::HTTPGenericRequest, :send_request_with_body, :send_request_with_body_stream,
                        :send_request_with_body_data)
      private_constant :STOCK

      # @raise [ArgumentError] where the request must not be sent as it is
      # @api private
      def onewrite_check # :nodoc:
        header = @header
        Validate.check(@method, @path, header)
        return if @body
        return onewrite_check_form if @body_data
        return unless header["content-length"]

        if @body_stream
          Validate.check_framing(header, chunked? ? nil : Body.rest(@body_stream)) unless chunked? && onewrite_drop_length
        else
          Validate.check_framing(header, 0) unless onewrite_drop_length
        end
      end

      private

      # @return [Array<String>, nil] the Content-Length that Net::HTTP set when this request was last written, as the header
      #   keeps it
      attr_reader :onewrite_length

      # A url-encoded form needs no check: it becomes a String body.
      def onewrite_check_form
        return unless %r{\Amultipart/form-data\z}i.match?(content_type.to_s)

        # `each` of any other object may work only once.
        @body_data = @body_data.to_enum(:each).to_a unless @body_data.is_a?(Array) || @body_data.is_a?(Hash)
        Validate.check_form(@body_data, @form_option || {})
        Validate.check_framing(@header, nil) if chunked? && !onewrite_drop_length
      end

      # Deletes a Content-Length that Net::HTTP set when the same request object was sent before with another body.
      # @return [Boolean] whether there was one
      def onewrite_drop_length
        found = @header["content-length"]
        return false unless found && found.equal?(onewrite_length)

        @header.delete("content-length")
        true
      end

      # A body that is a String leaves with the head.
      def send_request_with_body(sock, ver, path, body)
        connection = Connection.of(sock)
        ours = connection && (settings = Config.current).enabled
        # Re-entry through an alias chain happens only while this body is being written, or on a socket without the adapter.
        if (!ours || connection.unsent) && __callee__ != :send_request_with_body &&
           (stock = STOCK.behind(:send_request_with_body, __callee__))
          return stock.bind(self).call(sock, ver, path, body)
        end
        return super unless ours

        connection.write_request(settings, settings.join_max) { |held| super(held, ver, path, body) }
      ensure
        @onewrite_length = @header["content-length"] if ours # `super` sets it, also where it was set before
      end

      # A source that may block gets a wrapper that flushes held bytes before each read: the server may need the head, or
      # the first chunk, long before the next one.
      def send_request_with_body_stream(sock, ver, path, source)
        if __callee__ != :send_request_with_body_stream && (stock = STOCK.behind(:send_request_with_body_stream, __callee__))
          return stock.bind(self).call(sock, ver, path, source)
        end

        connection = Connection.of(sock)
        return super unless connection && (settings = Config.current).enabled

        connection.write_request(settings, settings.join_max, onewrite_announced) do |held|
          super(held, ver, path, Body.source?(source) ? source : WaitingSource.over(source, held))
        end
      end

      # Chunked multipart reads its parts while it writes; otherwise Net::HTTP writes them to a file first.
      def send_request_with_body_data(sock, ver, path, params)
        if __callee__ != :send_request_with_body_data && (stock = STOCK.behind(:send_request_with_body_data, __callee__))
          return stock.bind(self).call(sock, ver, path, params)
        end

        connection = Connection.of(sock)
        return super unless connection && (settings = Config.current).enabled

        connection.write_request(settings, settings.join_max) do |held|
          if chunked? && !Body.form?(params)
            params = params.map { |key, value, *rest| [key, WaitingPart.over(value, held), *rest] }
          end
          super(held, ver, path, params)
        ensure
          @onewrite_length = @header["content-length"] unless chunked? # set by `super`
        end
      end

      # Content-Length of a body that is read from a source. For other bodies Net::HTTP computes it.
      def onewrite_announced
        content_length if @body_stream && !@body && !chunked?
      end
    end

    # Prepended to Net::HTTPGenericRequest when timing or QUICKACK is first asked for: requests without a body.
    # Why this method: in every version such a request has been written when it returns. (`write_header` writes the heads of
    # all other requests, too.)
    # Not reached: code that calls `exec` with its own socket, as above.
    module RequestHead
      STOCK = Stock.new(Net::HTTPGenericRequest, :exec)
      private_constant :STOCK

      def exec(sock, ver, path) # :nodoc:
        if __callee__ != :exec && (stock = STOCK.behind(:exec, __callee__))
          return stock.bind(self).call(sock, ver, path)
        end
        return super if @body || @body_stream || @body_data

        # {HeldSocket} counts the writes here, and joins nothing.
        connection = Connection.of(sock)
        return super unless connection && (settings = Config.current).enabled && (connection.call || settings.quickack)

        connection.write_request(settings, 0) { |held| super(held, ver, path) }
      end
    end
  end
end
