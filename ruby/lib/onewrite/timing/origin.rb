# frozen_string_literal: true

module Onewrite
  # The beginning of a URL: scheme, host and port; and the whole of it.
  module Origin
    # An IPv6 address. A URL has it in brackets (RFC 3986 §3.2.2) and without a zone, which only this machine understands.
    # It is not validated; the resolver does that.
    IPV6 = /\A(\h*:[\h:.]*)(?:%.*)?\z/.freeze
    WHOLE = %r{\A[a-z][a-z0-9+.\-]*://}in.freeze
    private_constant :IPV6, :WHOLE

    # @param tls [Boolean]
    # @param address [String, nil] as the session was given it
    # @param port [Integer]
    # @return [String] such as http://127.0.0.1:80 or https://[::1]:443
    def self.url(tls, address, port)
      ipv6 = IPV6.match(address.to_s)
      "#{tls ? "https" : "http"}://#{ipv6 ? "[#{ipv6[1]}]" : address}:#{port}"
    end

    # @param target [String] of the request line: a path most often, but a whole URL, or `*`, may be asked for, too
    #   (RFC 9112 §3.2)
    # @return [String] the URL
    def self.join(origin, target)
      return origin + target if target.start_with?("/")
      return origin if target == "*"

      target.b =~ WHOLE ? target : "#{origin}/#{target}"
    end
  end
end
