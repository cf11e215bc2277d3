# frozen_string_literal: true

require "onewrite/config"

module Onewrite
  module NetHTTP
    # Included in Net::HTTPGenericRequest: the names of header fields as they are written.
    #
    # Net::HTTP keeps names in small letters and capitalises each anew for each request, with eight objects a name; for a
    # POST of a few bytes that is a tenth of all the client does, between the caller and the first byte. Here a name is
    # capitalised once, by the library's own method.
    #
    # Why this method: it is what `write_header` asks for names and values, in every version; what is made of them stays
    # the library's. Why included and not prepended: whatever a request, its class or Net::HTTPGenericRequest itself
    # defines, now or later, comes before it. What it would cover up is a change of Net::HTTPHeader; so it looks there each
    # time, since to redefine `capitalize` is how programs keep the case of names.
    module Header
      # @return [UnboundMethod, nil] the library's own, nil where somebody was here before
      def self.stock(name)
        found = Net::HTTPHeader.instance_method(name)
        found if found.source_location.to_a.first.to_s.end_with?("net/http/header.rb")
      end

      EACH = stock(:each_capitalized)
      CAPITALIZE = stock(:capitalize)
      # Names of whatever a program makes of foreign data are not kept for ever.
      LIMIT = 256
      private_constant :EACH, :CAPITALIZE, :LIMIT

      # By identity: keys of a Hash are interned strings, so a name is found at once, and a String of another class, made
      # to answer `capitalize` in its own way, never is.
      @names = {}.compare_by_identity.freeze

      class << self
        # @return [Hash{String => String}] names by what they are in small letters
        attr_reader :names

        # Notes a name. Of two threads at once, one may be forgotten, and comes again.
        # @return [String] *capitalized*
        def keep(name, capitalized)
          names = @names
          @names = names.merge(name => capitalized.dup.freeze).freeze if names.size < LIMIT && (-name).equal?(name)
          capitalized
        end
      end

      # The library's, but for the names. What is given away is the caller's own, as there.
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
