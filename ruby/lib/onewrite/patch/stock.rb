# frozen_string_literal: true

require "net/http"

module Onewrite
  module Patch
    # The methods that are patched, as they were found.
    #
    # A prepended method mixes with everything but a chain of aliases that is laid over it afterwards: the alias is then
    # another name of our method, whose `super` is the chain, which calls the alias, and so on without end. So each method
    # that we prepend looks by which name it was called. Under one that the patched class has beside it, it steps aside,
    # and calls what was there before us. A chain in a subclass is none of these: from there `super` goes the usual way.
    # What this cannot reach: JRuby 9.2, whose `__callee__` does not tell.
    module Stock
      # WebMock puts a subclass in the place of the constant Net::HTTP and takes it away again; a patch on that subclass
      # would go with it. The real class is the one below Net::Protocol.
      # @return [Class]
      def self.session
        found = Net::HTTP
        found = found.superclass until found.superclass == Net::Protocol || found.superclass.nil?
        found
      end

      # @return [Hash{Symbol => UnboundMethod}] of *names*, those that *where* has
      def self.of(where, *names)
        there = names.select { |name| where.method_defined?(name) || where.private_method_defined?(name) }
        there.map { |name| [name, where.instance_method(name)] }.to_h.freeze
      end

      # Asked where a method of ours was called by another name than its own.
      # @param callee [Symbol] that name
      # @return [Boolean] whether it belongs to a chain that was laid over *where*, and not over a subclass
      def self.chain?(where, callee)
        where.method_defined?(callee) || where.private_method_defined?(callee)
      end
    end
  end
end
