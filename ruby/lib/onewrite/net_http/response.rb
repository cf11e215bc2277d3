# frozen_string_literal: true

require "onewrite/net_http/connection"
require "onewrite/net_http/stock"

module Onewrite
  module NetHTTP
    # Prepended to the singleton class of Net::HTTPResponse, for timing alone. Why this method: it begins the reading of
    # each response, interim ones included, and gets the socket. The first read of a timed response is made here, by the
    # method that Net::BufferedIO would make it with, so that the moment of its first byte is known; the line that is
    # then read from the buffer may come in pieces.
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

    # Prepended to Net::HTTPResponse, for timing alone. Why this method: `read_body` may be called long before the
    # exchange ends, and what the caller does after it is not the server's time. Nothing in the parsing is changed.
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
        lengths = @header["content-length"] if call # read before: the library deletes it where it inflates
        result = super
        call.received(lengths ? lengths[0] : (dest.bytesize if dest.is_a?(String))) if call
        result
      end
    end
  end
end
