# frozen_string_literal: true

require "onewrite/config"
require "onewrite/net_http/connection"
require "onewrite/net_http/stock"
require "onewrite/wire/body"
require "onewrite/wire/coalesce"
require "onewrite/wire/quickack"
require "onewrite/wire/validate"

module Onewrite
  module NetHTTP
    # Prepended to Net::HTTPGenericRequest: how a request with a body is written. One without is one write already.
    #
    # Why these methods and not `exec`, which calls one of them: they are where the second write comes from, and a GET
    # passes by without a frame of ours. They are private, of the same arity from 1.9.3 to 0.9, and patched by no gem we
    # know. Each gets the socket as an argument, so a stand-in for the socket is enough and no writing code is repeated
    # here. What they cannot reach: code that calls `exec` with a socket of its own, as ssrf_filter does with a StringIO;
    # that is passed on untouched.
    #
    # Not here: Net::BufferedIO. It carries SMTP and POP as well.
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

      # A form of the other kind becomes a String, whose head Net::HTTP makes true.
      def onewrite_check_form
        return unless %r{\Amultipart/form-data\z}i.match?(content_type.to_s)

        @body_data = @body_data.to_enum(:each).to_a unless @body_data.is_a?(Array) || @body_data.is_a?(Hash) # may give once
        Validate.check_form(@body_data, @form_option || {})
        Validate.check_framing(@header, nil) if chunked? && !onewrite_drop_length
      end

      # A request that is sent again with another body: the length that Net::HTTP set for the one before is nobody's wish.
      # @return [Boolean] whether the Content-Length was such a one, and is gone
      def onewrite_drop_length
        found = @header["content-length"]
        return false unless found && found.equal?(onewrite_length)

        @header.delete("content-length")
        true
      end

      # A String: the head is taken and leaves with it.
      def send_request_with_body(sock, ver, path, body)
        connection = Connection.of(sock)
        ours = connection && (settings = Config.current).enabled
        # Only where its writing is under way, or it is none of ours, can a chain be coming back.
        if (!ours || connection.unsent) && __callee__ != :send_request_with_body &&
           (stock = STOCK.behind(:send_request_with_body, __callee__))
          return stock.bind(self).call(sock, ver, path, body)
        end
        return super unless ours

        held = connection.held
        connection.unsent = true
        held.start(settings.join_max, nil, call = connection.call)
        begin
          super(held, ver, path, body)
          held.finish
        rescue Errno::EPIPE
          call.sent(connection) if call # Net::HTTP goes on to read the answer
          raise
        ensure
          @onewrite_length = @header["content-length"] # set by `super`, whatever it was
          held.stop
        end
        connection.unsent = false
        call.sent(connection) if call
        Quickack.ask(connection.io) if settings.quickack
      end

      # A source that may make one wait is shown through a glass that writes what is held before each read (RFC 9112
      # says nothing of it; a server may want the head, or the first chunk, long before the next).
      def send_request_with_body_stream(sock, ver, path, source)
        if __callee__ != :send_request_with_body_stream && (stock = STOCK.behind(:send_request_with_body_stream, __callee__))
          return stock.bind(self).call(sock, ver, path, source)
        end

        onewrite_hold(sock) do |held|
          source = WaitingSource.over(source, held) if held.is_a?(HeldSocket) && !Body.source?(source)
          super(held, ver, path, source)
        end
      end

      # Chunked multipart reads its parts while it writes; otherwise Net::HTTP writes them to a file first.
      def send_request_with_body_data(sock, ver, path, params)
        if __callee__ != :send_request_with_body_data && (stock = STOCK.behind(:send_request_with_body_data, __callee__))
          return stock.bind(self).call(sock, ver, path, params)
        end

        onewrite_hold(sock) do |held|
          if held.is_a?(HeldSocket) && chunked? && !Body.form?(params)
            params = params.map { |key, value, *rest| [key, WaitingPart.over(value, held), *rest] }
          end
          super(held, ver, path, params)
        ensure
          @onewrite_length = @header["content-length"] unless chunked? # set by `super`
        end
      end

      # Runs the block with the stand-in for *sock*; with *sock* itself where it is a foreign one or the adapter is off.
      def onewrite_hold(sock)
        connection = Connection.of(sock)
        return yield sock unless connection && (settings = Config.current).enabled

        held = connection.held
        connection.unsent = true
        held.start(settings.join_max, onewrite_announced, call = connection.call)
        begin
          yield held
          held.finish
        rescue Errno::EPIPE
          call.sent(connection) if call
          raise
        ensure
          held.stop
        end
        connection.unsent = false
        call.sent(connection) if call
        Quickack.ask(connection.io) if settings.quickack
      end

      # Content-Length of a body that is read from a source; the others' are true by construction.
      def onewrite_announced
        content_length if @body_stream && !@body && !chunked?
      end
    end

    # Prepended to Net::HTTPGenericRequest when timing or QUICKACK is first asked for: a head alone, which passes by the
    # other patches. Why this method: in every version such a request is written when this one returns. (`write_header`,
    # which writes it, writes the heads of all the others, too.) What it cannot reach: as above, sockets of somebody else.
    module RequestHead
      STOCK = Stock.new(Net::HTTPGenericRequest, :exec)
      private_constant :STOCK

      def exec(sock, ver, path) # :nodoc:
        if __callee__ != :exec && (stock = STOCK.behind(:exec, __callee__))
          return stock.bind(self).call(sock, ver, path)
        end
        return super if @body || @body_stream || @body_data

        connection = Connection.of(sock)
        return super unless connection && (settings = Config.current).enabled

        call = connection.call
        call ? onewrite_count(connection, call) { |held| super(held, ver, path) } : super
        Quickack.ask(connection.io) if settings.quickack
      end

      private

      # The stand-in counts the writes.
      def onewrite_count(connection, call)
        held = connection.held
        held.start(0, nil, call)
        begin
          yield held
        rescue Errno::EPIPE
          call.sent(connection)
          raise
        ensure
          held.stop
        end
        call.sent(connection)
      end
    end
  end
end
