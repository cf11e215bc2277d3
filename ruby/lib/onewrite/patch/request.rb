# frozen_string_literal: true

require "onewrite/connection"
require "onewrite/floor"
require "onewrite/nodelay"
require "onewrite/prompt"
require "onewrite/settings"

module Onewrite
  module Patch
    # Prepended to Net::HTTPGenericRequest: how a request is written.
    #
    # Not here: Net::BufferedIO. It carries SMTP and POP as well.
    module Request
      # For a chain of aliases laid over the patched method: there, `super` would lead back to us.
      STOCK_EXEC = Net::HTTPGenericRequest.instance_method(:exec)
      private_constant :STOCK_EXEC

      # Writes the request. Why this method: every body kind of every version goes through it with the socket as an
      # argument, so a stand-in for the socket is enough and no writing code is repeated here. What it cannot reach:
      # code that calls it with a socket of its own, as ssrf_filter does with a StringIO; that is passed on untouched.
      def exec(sock, ver, path) # :nodoc:
        settings = Settings.current
        connection = Connection.of(sock) if settings.enabled
        return super unless connection

        held = connection.held
        return STOCK_EXEC.bind(self).call(sock, ver, path) if held.busy?

        onewrite_exec(held, connection, settings) { super(held, ver, path) }
      end

      # @raise [InvalidRequest] where the request must not be sent as it is
      # @api private
      def onewrite_check # :nodoc:
        header = @header
        Floor.check(method, path, header)
        return if @body || !header["content-length"]

        if @body_stream
          Floor.check_framing(header, chunked? ? nil : Prompt.rest(@body_stream))
        elsif !@body_data
          Floor.check_framing(header, 0)
        elsif chunked? && %r{\Amultipart/form-data\z}i.match?(content_type.to_s)
          Floor.check_framing(header, nil)
        end
      end

      private

      # A source that may make one wait is shown through a glass that writes what is held before each read (RFC 9112
      # says nothing of it; a server may want the head, or the first chunk, long before the next).
      def send_request_with_body_stream(sock, ver, path, source)
        return super if !sock.is_a?(HeldSocket) || Prompt.source?(source)

        super(sock, ver, path, WaitingSource.over(source, sock))
      end

      # Chunked multipart reads its parts while it writes; otherwise Net::HTTP writes them to a file first.
      def send_request_with_body_data(sock, ver, path, params)
        return super if !sock.is_a?(HeldSocket) || !chunked? || Prompt.form?(params)

        super(sock, ver, path, params.map { |key, value, *rest| [key, WaitingPart.over(value, sock), *rest] })
      end

      def onewrite_exec(held, connection, settings)
        call = connection.call
        held.start(settings.coalesce ? settings.coalesce_max : 0, onewrite_announced, call)
        begin
          result = yield
          held.finish
          sent = true
          result
        rescue Errno::EPIPE
          sent = nil # Net::HTTP goes on to read the answer
          call.request_end if call
          raise
        ensure
          connection.unsent = !sent
          held.stop
          if sent
            call.request_end if call
            Quickack.ask(connection.io) if settings.quickack
          end
        end
      end

      # Content-Length of a body that is read from a source; the others' are true by construction.
      def onewrite_announced
        content_length if @body_stream && !@body && !chunked?
      end
    end
  end
end
