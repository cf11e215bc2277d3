# frozen_string_literal: true

require "onewrite/config"

module Onewrite
  module NetHTTP
    # Included in Net::HTTPGenericRequest: the names of header fields as they are written.
    #
    # Net::HTTP stores names in lower case and capitalises each one anew for every request, with eight objects per name. For
    # a small POST that is a tenth of the client's work before the first byte. Here each name is capitalised once, by the
    # library's own method, and kept.
    #
    # Why this method: `write_header` gets names and values from it, in every version.
    # Why included and not prepended: any definition in a request object, its class or Net::HTTPGenericRequest then wins over
    # this one. Only a change of Net::HTTPHeader would be hidden, so that is checked each time: redefining `capitalize` is
    # how programs keep the case of names.
    module Header
      # @return [UnboundMethod, nil] the library's own method; nil if it was already replaced
      def self.stock(name)
        found = Net::HTTPHeader.instance_method(name)
        found if found.source_location.to_a.first.to_s.end_with?("net/http/header.rb")
      end

      EACH = stock(:each_capitalized)
      CAPITALIZE = stock(:capitalize)
      # Bounds the table, because a program may make header names from data it received.
      LIMIT = 256
      private_constant :EACH, :CAPITALIZE, :LIMIT

      # Compared by identity: keys of a Hash are interned strings, so a name is found without comparing bytes. A String
      # subclass with a `capitalize` of its own is never found.
      @names = {}.compare_by_identity.freeze

      class << self
        # @return [Hash{String => String}] names by what they are in small letters
        attr_reader :names

        # Adds a name. If two threads do so at once, one of the names may be lost and is added again later.
        # @return [String] *capitalized*
        def keep(name, capitalized)
          names = @names
          @names = names.merge(name => capitalized.dup.freeze).freeze if names.size < LIMIT && (-name).equal?(name)
          capitalized
        end
      end

      # As in the library, but with kept names. The caller gets a String of its own, as in the library.
      def each_capitalized # :nodoc:
        return super unless block_given? && Config.current.enabled && onewrite_stock_names?

        names = Header.names
        @header.each do |name, values|
          known = names[name]
          yield known ? +known : Header.keep(name, capitalize(name)), values.join(", ")
        end
      end

      # Kernel's, since `method` of a request is its HTTP method.
      alias onewrite_method method
      private :onewrite_method

      private

      def onewrite_stock_names?
        onewrite_method(:capitalize).owner.equal?(Net::HTTPHeader) &&
          Net::HTTPHeader.instance_method(:capitalize) == CAPITALIZE &&
          Net::HTTPHeader.instance_method(:each_capitalized) == EACH
      end
    end
  end
end
