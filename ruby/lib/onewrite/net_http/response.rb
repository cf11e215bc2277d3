# frozen_string_literal: true

require "onewrite/net_http/connection"

module Onewrite
  module NetHTTP
    # For the singleton class of Net::HTTPResponse, for timing alone.
    # Why this method: it reads the first line of each response, interim ones included, and gets the socket. The first read of
    # a timed response is made here, with Net::BufferedIO's own method, to know when its first byte came; the rest of the
    # line may come later.
    module ResponseHead
      private

      def read_status_line(sock)
        connection = Connection.of(sock)
        call = connection && connection.call
        return onewrite_untimed_read_status_line(sock) unless call

        now = connection.first_byte(sock)
        line = onewrite_untimed_read_status_line(sock)
        call.status_line(line[1], now)
        line
      end
    end

    # For Net::HTTPResponse, for timing alone.
    # Why this method: the body is complete when it returns. The caller may do other things before the request ends, and
    # that time is not the server's. Parsing is not changed.
    module ResponseBody
      private

      def read_body_0(dest)
        connection = Connection.of(@socket)
        call = connection && connection.call
        return onewrite_untimed_read_body_0(dest) unless call

        call.headers_end(self)
        lengths = @header["content-length"] # read before: the library deletes it where it inflates
        result = onewrite_untimed_read_body_0(dest)
        call.received(lengths ? lengths[0] : (dest.bytesize if dest.is_a?(String)))
        result
      end
    end
  end
end
