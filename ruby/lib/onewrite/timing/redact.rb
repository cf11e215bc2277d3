# frozen_string_literal: true

module Onewrite
  # URLs as they are shown: without user and password, and without the values of query keys that have a secret word (SEC-17).
  # Each rule has its rows in spec/testdata/redaction.json.
  module Redact
    # A scheme and the slashes behind it; parsers differ in how many slashes they want after http, and take `\` for one.
    BEFORE_AUTHORITY = %r{\A\s*(?:https?:[/\\]*|[a-z][a-z0-9+.\-]*:[/\\]{2}|[/\\]{2})?}in.freeze
    AUTHORITY = %r{\G[^/\\?\#]*}n.freeze
    # What is no port: a password, with the rest of it behind a character that should have been escaped.
    NO_PORT = /\A(?>\[[^\]]*\]|[^:]*):(?!\d*\z)/n.freeze
    SECRET = /\A(?:sig|signature|token|secret|password|passwd|pwd|credentials?|auth|authorization|jwt|hmac|key|apikey)\z/i.freeze
    # Splits a key into words, as AWSAccessKeyId into AWS, Access, Key and Id.
    BETWEEN_WORDS = /[^A-Za-z0-9]+|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])/n.freeze
    ESCAPE = /%(\h\h)/n.freeze
    # An IPv6 address. A URL has it in brackets (RFC 3986 §3.2.2) and without a zone, which only this machine understands.
    # It is not validated; the resolver does that.
    IPV6 = /\A(\h*:[\h:.]*)(?:%.*)?\z/.freeze
    WHOLE = %r{\A[a-z][a-z0-9+.\-]*://}in.freeze
    PORTS = { "http" => 80, "https" => 443 }.freeze
    private_constant :BEFORE_AUTHORITY, :AUTHORITY, :NO_PORT, :SECRET, :BETWEEN_WORDS, :ESCAPE, :IPV6, :WHOLE, :PORTS

    class << self
      # @return [String] *text* without secrets
      def url(text)
        bytes = text.b # it may be in no encoding at all
        return text unless bytes.include?("@") || bytes.include?("?")

        query(credentials(bytes)).force_encoding(text.encoding)
      end

      # @return [String] class and message of *error*, whose host may have been given with a password
      def error(error)
        text = "#{error.class}: #{error.message}"
        text.include?("@") ? text.b.gsub(/\S+@/n, "").force_encoding(text.encoding) : text
      rescue Exception # rubocop:disable Lint/RescueException -- the error's own methods may raise
        "an error without a message"
      end

      # @return [String] scheme, host and port, as `http://host`; without the scheme's own port, and without user and password
      def origin(tls, address, port)
        scheme = tls ? "https" : "http"
        whole = "#{scheme}://#{authority(address, port)}"
        PORTS[scheme] == port ? whole.chomp(":#{port}") : whole
      end

      # @return [String] host and port
      def authority(address, port)
        host = address.to_s.rpartition("@").last
        ipv6 = IPV6.match(host)
        "#{ipv6 ? "[#{ipv6[1]}]" : host}:#{port}"
      end

      # @param origin [String] as of {origin}
      # @param target [String, Object] of the request line: most often a path, but also a whole URL or `*` (RFC 9112 §3.2)
      # @return [String] the URL of a request, before redaction, in UTF-8; bytes that are none are percent-encoded
      def join(origin, target)
        bytes = target.to_s.b
        unless bytes =~ WHOLE
          bytes = "" if bytes == "*"
          bytes = "#{origin.b}#{"/" unless bytes.empty? || bytes.start_with?("/")}#{bytes}"
        end
        bytes.force_encoding(Encoding::UTF_8).scrub { |bad| bad.b.gsub(/./mn) { |byte| format("%%%02X", byte.ord) } }
      end

      private

      def credentials(bytes)
        return bytes unless (at = bytes.rindex("@"))

        from = BEFORE_AUTHORITY.match(bytes).end(0)
        authority = AUTHORITY.match(bytes, from)[0]
        last = authority.rindex("@")
        last = at - from if last.nil? && NO_PORT =~ authority
        last && last >= 0 ? bytes.byteslice(0, from) + bytes.byteslice(from + last + 1, bytes.bytesize) : bytes
      end

      def query(bytes)
        rest, hash, fragment = bytes.partition("#")
        path, mark, query = rest.partition("?")
        path + mark + query.gsub(/[^&=]*=[^&]*/n) { |pair| pair(pair) } + hash + fragment
      end

      # The first `=` ends the key.
      def pair(pair)
        key = pair.partition("=").first
        words = key.gsub(ESCAPE) { |escape| escape[1, 2].hex.chr }.split(BETWEEN_WORDS)
        words.any? { |word| SECRET =~ word } ? "#{key}=REDACTED" : pair
      end
    end
  end
end
