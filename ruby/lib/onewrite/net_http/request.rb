# frozen_string_literal: true

require "onewrite/config"
require "onewrite/net_http/socket"
require "onewrite/wire/body"
require "onewrite/wire/nodelay"

module Onewrite
  module NetHTTP
    # For Net::HTTPGenericRequest: writes requests. Nothing is set on the request, which may be frozen.
    module Request
      include Wire::Waits

      # Why this method: it writes every request and gets the socket. No code of the library is repeated.
      # Not reached: code that calls `exec` with another socket, as ssrf_filter does with a StringIO. It is not changed.
      def exec(sock, ver, path) # :nodoc: # rubocop:disable Metrics -- each method call costs
        return onewrite_stock_exec(sock, ver, path) unless Socket === sock

        settings = Config.current
        call = sock.onewrite_call
        limit = @body || @body_stream || @body_data ? settings.join_max : 0
        # A request without a body is one write already.
        return onewrite_stock_exec(sock, ver, path) unless call || limit > 0 || settings.quickack

        chunks = limit > 0 && !@body
        if chunks && (waits = onewrite_waits)
          limit = 0
          chunks = waits == :chunk
        end
        if call
          call.method = @method
          # Without a slash first it is the URL that a proxy gets. No encoding is compared.
          relative = String === path && path.getbyte(0) == 47
          call.path = relative ? path : @path
        end
        result = sock.onewrite_send(limit, chunks) { onewrite_stock_exec(sock, ver, path) }
        call.sent(sock) if call
        Wire::Nodelay.quickack(sock.onewrite_tcp) if settings.quickack
        result
      end
    end
  end
end
