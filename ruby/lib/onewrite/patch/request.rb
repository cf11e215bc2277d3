# frozen_string_literal: true

require "onewrite/connection"
require "onewrite/floor"
require "onewrite/prompt"
require "onewrite/settings"

module Onewrite
  module Patch
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
      # For a chain of aliases laid over a patched method: there, `super` would lead back to us. That a request is under way
      # tells it, and where we have no part in it, the name we are called by.
      STOCK = %i[send_request_with_body send_request_with_body_stream send_request_with_body_data].map do |name|
        [name, Net::HTTPGenericRequest.instance_method(name)]
      end.to_h.freeze
      private_constant :STOCK

      # @raise [InvalidRequest] where the request must not be sent as it is
      # @api private
      def onewrite_check # :nodoc:
        header = @header
        Floor.check(@method, @path, header)
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

      # A String: the head is taken and leaves with it.
      def send_request_with_body(sock, ver, path, body)
        connection = Connection.of(sock)
        unless connection && (settings = Settings.current).enabled
          return super if __callee__ == :send_request_with_body

          return STOCK[:send_request_with_body].bind(self).call(sock, ver, path, body)
        end

        held = connection.held
        return STOCK[:send_request_with_body].bind(self).call(sock, ver, path, body) if held.busy?

        connection.unsent = true
        held.start(settings.join_max, nil, connection.call)
        begin
          super(held, ver, path, body)
          held.finish
        ensure
          held.stop
        end
        connection.unsent = false
      end

      # A source that may make one wait is shown through a glass that writes what is held before each read (RFC 9112
      # says nothing of it; a server may want the head, or the first chunk, long before the next).
      def send_request_with_body_stream(sock, ver, path, source)
        onewrite_hold(:send_request_with_body_stream, __callee__, sock, ver, path, source) do |held|
          source = WaitingSource.over(source, held) if held.is_a?(HeldSocket) && !Prompt.source?(source)
          super(held, ver, path, source)
        end
      end

      # Chunked multipart reads its parts while it writes; otherwise Net::HTTP writes them to a file first.
      def send_request_with_body_data(sock, ver, path, params)
        onewrite_hold(:send_request_with_body_data, __callee__, sock, ver, path, params) do |held|
          if held.is_a?(HeldSocket) && chunked? && !Prompt.form?(params)
            params = params.map { |key, value, *rest| [key, WaitingPart.over(value, held), *rest] }
          end
          super(held, ver, path, params)
        end
      end

      # Runs the block with the stand-in for *sock*; with *sock* itself where it is a foreign one or the adapter is off.
      def onewrite_hold(name, callee, sock, ver, path, body)
        connection = Connection.of(sock)
        settings = Settings.current
        held = connection.held if connection && settings.enabled
        return STOCK[name].bind(self).call(sock, ver, path, body) if held ? held.busy? : callee != name
        return yield sock unless held

        connection.unsent = true
        held.start(settings.join_max, onewrite_announced, connection.call)
        begin
          yield held
          held.finish
        ensure
          held.stop
        end
        connection.unsent = false
      end

      # Content-Length of a body that is read from a source; the others' are true by construction.
      def onewrite_announced
        content_length if @body_stream && !@body && !chunked?
      end
    end

    # Prepended to Net::HTTPGenericRequest when timing or QUICKACK is first asked for: the end of a request. Why this
    # method: every request of every version goes through it and is written when it returns. What it cannot reach: as
    # above, sockets of somebody else.
    module RequestEnd
      STOCK_EXEC = Net::HTTPGenericRequest.instance_method(:exec)
      private_constant :STOCK_EXEC

      def exec(sock, ver, path) # :nodoc:
        connection = Connection.of(sock)
        on = connection && (settings = Settings.current).enabled
        # A chain of aliases laid over us comes back here.
        return STOCK_EXEC.bind(self).call(sock, ver, path) if on ? connection.sending : __callee__ != :exec
        return super unless on

        call = connection.call
        connection.sending = true
        begin
          if call.nil? || @body || @body_stream || @body_data
            super
          else
            onewrite_count(connection.held, call) { |held| super(held, ver, path) }
          end
          call.request_end if call
          Quickack.ask(connection.io) if settings.quickack
        rescue Errno::EPIPE
          call.request_end if call # Net::HTTP goes on to read the answer
          raise
        ensure
          connection.sending = false
        end
      end

      private

      # A head alone passes by the other patches; the stand-in counts it.
      def onewrite_count(held, call)
        held.start(0, nil, call)
        yield held
      ensure
        held.stop
      end
    end
  end
end
