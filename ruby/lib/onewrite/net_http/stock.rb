# frozen_string_literal: true

require "net/http"

module Onewrite
  module NetHTTP
    # The methods of one class of the library as they were before the patch, for calls that come back through an alias
    # chain.
    #
    # A prepended method works beside every other kind of patch but one: an alias chain that is defined afterwards. The alias
    # is then a second name of the prepended method, whose `super` is the chain, which calls the alias: an endless
    # recursion. So each prepended method looks at the name it was called by (`__callee__`). If that is not its own name but
    # another method of the patched class, the call came through a chain, and the method from before the patch is called.
    # A chain in a subclass does not recurse: there `super` goes the usual way.
    # On JRuby 9.2 this does not work: its `__callee__` does not report that name.
    class Stock
      # WebMock replaces the constant Net::HTTP by a subclass and takes it away again, and a patch of that subclass with it.
      # The real class is the one below Net::Protocol.
      # @return [Class]
      def self.session
        found = Net::HTTP
        found = found.superclass until found.superclass == Net::Protocol || found.superclass.nil?
        found
      end

      # @param where [Module] that is about to be patched
      # @param names [Array<Symbol>] of the methods; a name it does not have is left out
      def initialize(where, *names)
        @where = where
        there = names.select { |name| method?(name) }
        @methods = there.map { |name| [name, where.instance_method(name)] }.to_h.freeze
        freeze
      end

      # Asked where a patched method was called by another name than its own.
      # @param name [Symbol] of the method
      # @param callee [Symbol] by which it was called
      # @return [UnboundMethod, nil] the method before the patch, if *callee* is an alias chain over the patched class
      def behind(name, callee)
        @methods[name] if method?(callee)
      end

      private

      def method?(name)
        @where.method_defined?(name) || @where.private_method_defined?(name)
      end
    end
  end
end
