# frozen_string_literal: true

require "net/http"

module Onewrite
  module NetHTTP
    # Methods of a module that take the place of methods of one class of the library. Each replaced method stays there under
    # the name `onewrite_PREFIX_NAME`, which the new one calls.
    #
    # Why in place and not by prepending: other gems wrap the same methods, some by alias chains, some by instance_method and
    # define_method. A prepended method recurses without end where such a wrapper is defined later, because the wrapper keeps
    # the prepended method, whose `super` is the wrapper. A method in the class itself is kept and called like the library's.
    class Patch
      # WebMock replaces the constant Net::HTTP by a subclass and takes it away again. The real class is the one below
      # Net::Protocol.
      # @return [Class]
      def self.session
        found = Net::HTTP
        found = found.superclass until found.superclass == Net::Protocol || found.superclass.nil?
        found
      end

      # @return [Module] the class
      attr_reader :where

      # @param where [Module] the class
      # @param methods [Module] has the new methods and what they need beside them
      # @param prefix [Symbol] names the replaced methods
      # @param arities [Hash{Symbol => Integer}] parameters of each method that is replaced
      def initialize(where, methods, prefix, arities)
        @where = where
        @methods = methods
        @prefix = prefix
        @arities = arities
        @applied = false
        # Net::HTTP has no ssl_socket_connect before Ruby 2.3; timing works without it.
        @arities = arities.reject { |name, _| name == :ssl_socket_connect && !find(name) }.freeze
      end

      # @return [Array<String>] the methods that the class lacks, or that take other parameters
      def unknown
        @arities.reject { |name, arity| (found = library(name)) && takes?(found.arity, arity) }.map { |name, _| label(name) }
      end

      def apply
        return if @applied

        @applied = true
        stock = @arities.keys.map { |name| [name, library(name)] }
        @where.include(@methods)
        stock.each { |name, method| replace(name, method) }
      end

      # @param waiting [String] the state of methods that are not replaced yet
      # @return [Hash{String => String}] each method, and whether it is on
      def states(waiting)
        @arities.keys.each_with_object({}) do |name, found|
          found["#{label(name)}#{" (timing)" if @prefix == :untimed}"] = @applied ? state(name) : waiting
        end
      end

      private

      def replace(name, stock)
        visibility = @where.private_method_defined?(name) ? :private : :public
        kept = :"onewrite_#{@prefix}_#{name}"
        @where.__send__(:define_method, kept, stock)
        @where.__send__(:define_method, name, @methods.instance_method(name))
        @where.__send__(:private, kept)
        @where.__send__(visibility, name)
      end

      # The class's own method, below those of modules that were prepended to it.
      # @return [UnboundMethod, nil] nil also where this Ruby cannot find it below such a module (2.1; JRuby)
      def library(name)
        found = find(name)
        found = found.respond_to?(:super_method) ? found.super_method : nil while found && prepended?(found.owner)
        found
      end

      def find(name)
        @where.instance_method(name)
      rescue NameError
        nil
      end

      def prepended?(owner)
        ancestors = @where.ancestors
        (at = ancestors.index(owner)) && at < ancestors.index(@where).to_i
      end

      # Another gem may have wrapped the method with a splat.
      def takes?(found, arity)
        found == arity || (found < 0 && -found - 1 <= arity)
      end

      def state(name)
        found = find(name)
        return "on, but #{found.owner} comes first" if prepended?(found.owner)

        place = found.source_location.to_a
        place.first.to_s.start_with?(__dir__) ? "on" : "on, but #{place.join(":")} comes first"
      end

      def label(name)
        "#{@where.inspect[/Net::\w+/]}#{@where.is_a?(Class) && @where.inspect.start_with?("#<") ? "." : "#"}#{name}"
      end
    end
  end
end
