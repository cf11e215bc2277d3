# frozen_string_literal: true

require "onewrite/net_http/socket"
require "onewrite/timing/record"
require "onewrite/wire/nodelay"

module Onewrite
  module NetHTTP
    # For the singleton class of Net::HTTPResponse.
    # Why this method: it reads the first line of each response, interim ones included, and gets the socket. The first read of
    # a timed response is made here, with Net::BufferedIO's own method, to know when its first byte came; the rest of the
    # line may come later. Errors are those that the library's own read would raise next.
    module ResponseHead
      private

      # One long method, because each method call costs.
      def read_status_line(sock)
        call = sock.onewrite_call if Socket === sock
        return onewrite_stock_read_status_line(sock) unless call

        sock.__send__(:rbuf_fill) if sock.rbuf.bytesize <= (sock.rbuf_offset || 0)
        now = Clock.clock_gettime(Clock::MONOTONIC, :nanosecond)
        sent = call.request_end
        if sent && now - sent > Timing::SOON_NS
          call.waited(sock, (Wire::Nodelay.on?(sock.onewrite_tcp) if now - sent >= Timing::LONG_NS))
        end
        line = onewrite_stock_read_status_line(sock)
        status = line[1].to_i
        if status >= 100 && status < 200
          call.informed(status, now)
          return line
        end
        call.sent(sock, now) unless sent # the server answered before the request was written to its end
        call.status = status
        call.response_start = now
        call.emit(:response_start, now) if call.listeners
        line
      end
    end

    # For Net::HTTPResponse.
    # Why this method: the body is complete when it returns. The caller may do other things before the request ends, and
    # that time is not the server's. Parsing is not changed.
    module ResponseBody
      # A destination may be any object, and a subclass of String may have its own `bytesize`.
      BYTESIZE = String.instance_method(:bytesize)
      private_constant :BYTESIZE

      private

      # Whether it ends with its head.
      def onewrite_empty?
        !@body_exist || (@header["content-length"] == ["0"] && !@header.key?("transfer-encoding"))
      end

      def read_body_0(dest)
        call = @socket.onewrite_call if Socket === @socket
        return onewrite_stock_read_body_0(dest) unless call

        call.emit_headers if call.listeners
        lengths = @header["content-length"] # read before: the library deletes it where it inflates
        result = onewrite_stock_read_body_0(dest)
        call.response_end ||= Clock.clock_gettime(Clock::MONOTONIC, :nanosecond)
        call.bytes_received = lengths ? lengths[0].to_i : (BYTESIZE.bind(dest).call if String === dest)
        call.emit_end if call.listeners
        result
      end
    end
  end
end
