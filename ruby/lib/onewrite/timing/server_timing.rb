# frozen_string_literal: true

module Onewrite
  # One entry of the response's Server-Timing (W3C Server Timing): what the server says of its own time. All
  # languages read the header alike (spec/testdata/server_timing.json). Frozen.
  class ServerTiming
    # How much of the header is read.
    MOST_CHARACTERS = 4096
    MOST_ENTRIES = 32
    MOST_DESCRIPTION = 128

    TOKEN = /\A[!\#$%&'*+\-.^_`|~0-9A-Za-z]{1,64}\z/.freeze
    MILLISECONDS = /\A(?=.)([0-9]{0,8})(?:\.([0-9]+))?\z/.freeze
    MOST_NS = 86_400_000 * 1_000_000
    # Up to the next comma or semicolon that is not in a quoted string. Such a string ends at its quote or with the text.
    QUOTED = /"(?:[^"\\]|\\.)*(?:"|\\?\z)/m.freeze
    ENTRY = /\G(?>[^,"]+|#{QUOTED})*/m.freeze
    PART = /\G(?>[^;"]+|#{QUOTED})*/m.freeze
    CONTENT = /\A"((?:[^"\\]|\\.|\\\z)*)/m.freeze
    private_constant :TOKEN, :MILLISECONDS, :MOST_NS, :QUOTED, :ENTRY, :PART, :CONTENT

    class << self
      # @param fields [Array<String>] values of the header, in order
      # @return [Array<ServerTiming>] without what cannot be read
      def parse(fields)
        entries(fields).each_with_object([]) do |text, found|
          break found if found.size == MOST_ENTRIES

          one = entry(text)
          found << one if one
        end.freeze
      end

      # @param entries [Array<ServerTiming>]
      # @param wait_ns [Integer, nil]
      # @return [Integer, nil] how much of the wait the server claims: its entry `total`, else its longest one. nil where it
      #   is longer than the wait, because then it measures something else.
      def server_ns(entries, wait_ns)
        timed = entries.select(&:duration_ns)
        total = timed.find { |one| one.name == "total" } || timed.max_by(&:duration_ns)
        claimed = total && total.duration_ns
        claimed if claimed && wait_ns && claimed.between?(1, wait_ns)
      end

      private

      # Fields are split one by one, so a quoted string that is not closed ends with its field.
      def entries(fields)
        rest = MOST_CHARACTERS
        fields.each_with_object([]) do |field, found|
          text = readable(field)
          cut = text.size > rest
          found.concat(split(cut ? text[0, rest] : text, ENTRY))
          return found[0...-1] if cut

          rest -= text.size
        end
      end

      # Net::HTTP gives header fields as bytes; RFC 9110 §5.5 leaves Latin-1 for what is not ASCII.
      def readable(field)
        return field if field.encoding == Encoding::UTF_8 && field.valid_encoding?

        field.dup.force_encoding(Encoding::ISO_8859_1).encode(Encoding::UTF_8)
      end

      def split(text, piece)
        found = []
        at = 0
        while at <= text.size
          found << text.match(piece, at)[0]
          at += found.last.size + 1
        end
        found
      end

      # @return [ServerTiming, nil]
      def entry(text)
        name, *parts = split(text, PART).map { |part| trim(part) }
        return nil unless TOKEN =~ name

        parameters = parts.each_with_object({}) do |part, known|
          key, _, value = part.partition("=")
          key = trim(key).tr("A-Z", "a-z")
          known[key] = content(trim(value)) unless known.key?(key)
        end
        new(name, nanoseconds(parameters["dur"]), parameters["desc"])
      end

      def trim(text)
        text.gsub(/\A[ \t]+|[ \t]+\z/, "")
      end

      def content(value)
        quoted = CONTENT.match(value)
        quoted ? quoted[1].gsub(/\\(.)/m, '\1') : value
      end

      # @return [Integer, nil]
      def nanoseconds(text)
        match = MILLISECONDS.match(text.to_s) or return nil

        found = (match[1].to_i * 1_000_000) + match[2].to_s[0, 6].ljust(6, "0").to_i
        found if found <= MOST_NS
      end
    end

    # @return [String]
    attr_reader :name
    # @return [Integer, nil] nanoseconds, as the server gives them; 0 where it says 0
    attr_reader :duration_ns
    # @return [String, nil]
    attr_reader :description

    # @api private
    def initialize(name, duration_ns, description)
      @name = name
      @duration_ns = duration_ns
      @description = description[0, MOST_DESCRIPTION] unless description.to_s.empty?
      freeze
    end

    # @return [Hash{Symbol => Object}] without what is nil
    def to_h
      { name: name, duration_ns: duration_ns, description: description }.reject { |_, value| value.nil? }
    end
  end
end
