# frozen_string_literal: true

require "onewrite/config"
require "onewrite/net_http/connection"
require "onewrite/wire/body"
require "onewrite/wire/quickack"

module Onewrite
  module NetHTTP
    # For Net::HTTPGenericRequest: writes requests. Nothing is set on the request, which may be frozen.
    #
    # Net::BufferedIO is not patched, because SMTP and POP use it, too.
    module Request
      include Wire::Waits

      # Why this method: it writes every request and gets the socket as an argument, so it is enough to pass the {Connection}
      # instead. It has the same parameters from Ruby 1.9.3 to net-http 0.9. No code of the library is repeated.
      # Not reached: code that calls `exec` with another socket, as ssrf_filter does with a StringIO. It is not changed.
      def exec(sock, ver, path) # :nodoc: # rubocop:disable Metrics -- each method call costs
        connection = sock.instance_variable_get(Connection::IVAR) if Net::BufferedIO === sock
        return onewrite_stock_exec(sock, ver, path) unless connection

        settings = Config.current
        call = connection.call
        # A request without a body is one write already.
        unless call || settings.quickack || (settings.join_max > 0 && (@body || @body_stream || @body_data))
          return onewrite_stock_exec(sock, ver, path)
        end

        if call
          call.method = @method
          call.path = path.to_s.start_with?("/") ? path : @path # not the URL that a proxy gets
        end
        begin
          connection.write_request(settings.join_max, (onewrite_waits unless @body)) do
            onewrite_stock_exec(connection, ver, path)
          end
        rescue Errno::EPIPE
          call.sent if call # Net::HTTP goes on to read the answer
          raise
        end
        call.sent if call
        Wire::Quickack.set(connection.tcp) if settings.quickack
      end
    end
  end
end
