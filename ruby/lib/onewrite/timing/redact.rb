# frozen_string_literal: true

module Onewrite
  # URLs as they are shown: without user and password, and without the values that sign a URL. OpenTelemetry's semantic
  # conventions forbid credentials in `url.full` and list the keys. Each rule has its rows in spec/testdata/redaction.json.
  module Redact
    # A scheme and the slashes behind it; parsers differ in how many slashes they want after http, and take `\` for one.
    BEFORE_AUTHORITY = %r{\A\s*(?:https?:[/\\]*|[a-z][a-z0-9+.\-]*:[/\\]{2}|[/\\]{2})?}in.freeze
    AUTHORITY = %r{\G[^/\\?\#]*}n.freeze
    # What is no port: a password, with the rest of it behind a character that should have been escaped.
    NO_PORT = /\A(?>\[[^\]]*\]|[^:]*):(?!\d*\z)/n.freeze
    SIGNATURE = /(\A|&)(AWSAccessKeyId|Signature|sig|X-Goog-Signature)=[^&]*/n.freeze
    # An IPv6 address. A URL has it in brackets (RFC 3986 §3.2.2) and without a zone, which only this machine understands.
    # It is not validated; the resolver does that.
    IPV6 = /\A(\h*:[\h:.]*)(?:%.*)?\z/.freeze
    WHOLE = %r{\A[a-z][a-z0-9+.\-]*://}in.freeze
    private_constant :BEFORE_AUTHORITY, :AUTHORITY, :NO_PORT, :SIGNATURE, :IPV6, :WHOLE

    class << self
      # @return [String] *text* without secrets
      def url(text)
        bytes = text.b # it may be in no encoding at all
        return text unless bytes.include?("@") || (bytes.include?("?") && SIGNATURE =~ bytes.tr("?", "&"))

        signatures(credentials(bytes)).force_encoding(text.encoding)
      end

      # @return [String] class and message of *error*, whose host may have been given with a password
      def error(error)
        text = "#{error.class}: #{error.message}"
        text.include?("@") ? text.b.gsub(/\S+@/n, "").force_encoding(text.encoding) : text
      rescue Exception # rubocop:disable Lint/RescueException -- the error's own methods may raise
        "an error without a message"
      end

      # @param target [String] of the request line: most often a path, but also a whole URL or `*` (RFC 9112 §3.2)
      # @return [String] the URL of a request, before redaction
      def join(tls, address, port, target)
        return target if target.b =~ WHOLE

        ipv6 = IPV6.match(address.to_s)
        origin = "#{tls ? "https" : "http"}://#{ipv6 ? "[#{ipv6[1]}]" : address}:#{port}"
        return origin if target == "*"

        target.start_with?("/") ? origin + target : "#{origin}/#{target}"
      end

      private

      def credentials(bytes)
        from = BEFORE_AUTHORITY.match(bytes).end(0)
        authority = AUTHORITY.match(bytes, from)[0]
        last = authority.rindex("@")
        last = bytes.rindex("@").to_i - from if last.nil? && NO_PORT =~ authority
        last && last >= 0 ? bytes.byteslice(0, from) + bytes.byteslice(from + last + 1, bytes.bytesize) : bytes
      end

      def signatures(bytes)
        rest, hash, fragment = bytes.partition("#")
        path, mark, query = rest.partition("?")
        path + mark + query.gsub(SIGNATURE, '\1\2=REDACTED') + hash + fragment
      end
    end
  end
end
