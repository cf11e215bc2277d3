# frozen_string_literal: true

require "onewrite/connection"

module Onewrite
  module Patch
    # Prepended to the singleton class of Net::HTTPResponse, for timing alone. Why these methods: they read the head of
    # each response, interim ones included, and get the socket. The first read of a timed response is made here, by the
    # method that Net::BufferedIO would make it with, so that the moment of its first byte is known; the line that is
    # then read from the buffer may come in pieces.
    module ResponseHead
      def read_new(sock) # :nodoc:
        response = super
        connection = Connection.of(sock)
        call = connection && connection.call
        call.headers_end if call && !response.is_a?(Net::HTTPInformation)
        response
      end

      private

      def read_status_line(sock)
        connection = Connection.of(sock)
        call = connection && connection.call
        return super unless call

        connection.first_byte
        now = Clock.now
        info = connection.look
        line = super
        call.looked(info) if call.status_line(line[1], now)
        line
      end
    end

    # Prepended to Net::HTTPResponse, for timing alone. Why this method: `read_body` may be called long before the
    # exchange ends, and what the caller does after it is not the server's time. Nothing in the parsing is changed.
    module ResponseBody
      private

      def read_body_0(dest)
        connection = Connection.of(@socket)
        call = connection && connection.call
        length = content_length if call
        result = super
        call.response_end(length || (dest.is_a?(String) ? dest.bytesize : nil)) if call
        result
      end
    end
  end
end
