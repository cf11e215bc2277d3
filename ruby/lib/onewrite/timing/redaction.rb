# frozen_string_literal: true

module Onewrite
  # URLs as they are shown: without user and password, and without the values that sign a URL. OpenTelemetry's semantic
  # conventions forbid credentials in `url.full` and list the keys. Each rule has its rows in spec/testdata/redaction.json.
  module Redaction
    # A scheme and the slashes behind it; parsers differ in how many slashes they want after http, and take `\` for one.
    BEFORE_AUTHORITY = %r{\A\s*(?:https?:[/\\]*|[a-z][a-z0-9+.\-]*:[/\\]{2}|[/\\]{2})?}in.freeze
    AUTHORITY = %r{\G[^/\\?\#]*}n.freeze
    # What is no port: a password, with the rest of it behind a character that should have been escaped.
    NO_PORT = /\A(?>\[[^\]]*\]|[^:]*):(?!\d*\z)/n.freeze
    SIGNATURE = /(\A|&)(AWSAccessKeyId|Signature|sig|X-Goog-Signature)=[^&]*/n.freeze
    private_constant :BEFORE_AUTHORITY, :AUTHORITY, :NO_PORT, :SIGNATURE

    # @param text [String]
    # @return [String] *text* itself where there is nothing to hide
    def self.url(text)
      bytes = text.b # it may be in no encoding at all
      return text unless bytes.include?("@") || (bytes.include?("?") && SIGNATURE =~ bytes.tr("?", "&"))

      signatures(credentials(bytes)).force_encoding(text.encoding)
    end

    # @param text [String] an error's message; the host it names may be one that was given with a password
    # @return [String]
    def self.message(text)
      text.include?("@") ? text.b.gsub(/\S+@/n, "").force_encoding(text.encoding) : text
    end

    def self.credentials(bytes)
      from = BEFORE_AUTHORITY.match(bytes).end(0)
      authority = AUTHORITY.match(bytes, from)[0]
      last = authority.rindex("@")
      last = bytes.rindex("@").to_i - from if last.nil? && NO_PORT =~ authority
      last && last >= 0 ? bytes.byteslice(0, from) + bytes.byteslice(from + last + 1, bytes.bytesize) : bytes
    end
    private_class_method :credentials

    def self.signatures(bytes)
      rest, hash, fragment = bytes.partition("#")
      path, mark, query = rest.partition("?")
      path + mark + query.gsub(SIGNATURE, '\1\2=REDACTED') + hash + fragment
    end
    private_class_method :signatures
  end
end
