# frozen_string_literal: true

require "onewrite/net_http/connection"
require "onewrite/net_http/stock"

module Onewrite
  module NetHTTP
    # Prepended to the singleton class of Net::HTTPResponse, for timing alone.
    # Why this method: it reads the first line of each response, interim ones included, and gets the socket. The first read of
    # a timed response is made here, with Net::BufferedIO's own method, to know when its first byte came; the rest of the
    # line may come later.
    module ResponseHead
      STOCK = Stock.new(Net::HTTPResponse.singleton_class, :read_status_line)
      private_constant :STOCK

      private

      def read_status_line(sock)
        if __callee__ != :read_status_line && (stock = STOCK.behind(:read_status_line, __callee__))
          return stock.bind(self).call(sock)
        end

        connection = Connection.of(sock)
        call = connection && connection.call
        return super unless call

        now = connection.first_byte(sock)
        line = super
        call.status_line(line[1], now)
        line
      end
    end

    # Prepended to Net::HTTPResponse, for timing alone.
    # Why this method: the body is complete when it returns. The caller may do other things before the request ends, and
    # that time is not the server's. Parsing is not changed.
    module ResponseBody
      STOCK = Stock.new(Net::HTTPResponse, :read_body_0)
      private_constant :STOCK

      private

      def read_body_0(dest)
        if __callee__ != :read_body_0 && (stock = STOCK.behind(:read_body_0, __callee__))
          return stock.bind(self).call(dest)
        end

        connection = Connection.of(@socket)
        call = connection && connection.call
        if call
          call.headers_end(self)
          lengths = @header["content-length"] # read before: the library deletes it where it inflates
        end
        result = super
        call.received(lengths ? lengths[0] : (dest.bytesize if dest.is_a?(String))) if call
        result
      end
    end
  end
end
