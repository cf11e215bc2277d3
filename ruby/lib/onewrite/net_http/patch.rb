# frozen_string_literal: true

require "net/http"

module Onewrite
  module NetHTTP
    # Methods of a module that take the place of methods of one class of the library. Each replaced method stays there under
    # the name `onewrite_stock_NAME`, which the new one calls.
    #
    # Why in place and not by prepending: other gems wrap the same methods, some by alias chains, some by instance_method and
    # define_method. A prepended method recurses without end where such a wrapper is defined later, because the wrapper keeps
    # the prepended method, whose `super` is the wrapper. A method in the class itself is kept and called like the library's.
    class Patch
      # WebMock replaces the constant Net::HTTP by a subclass and takes it away again. The real class is the one below
      # Net::Protocol.
      # @return [Class]
      def self.session
        session = Net::HTTP
        session = session.superclass until session.superclass == Net::Protocol || session.superclass.nil?
        session
      end

      # @param where [Module] the class
      # @param methods [Module] has the new methods
      # @param arities [Hash{Symbol => Integer}] parameters of each method that is replaced
      def initialize(where, methods, arities)
        @where = where
        @methods = methods
        @applied = false
        @wrapped = []
        # Net::HTTP has no ssl_socket_connect before Ruby 2.3; timing works without it.
        @arities = arities.reject { |name, _| name == :ssl_socket_connect && !find(name) }.freeze
      end

      # @return [Array<String>] the methods that the class lacks, or that take other parameters
      def unknown
        @arities.reject { |name, arity| (method = library(name)) && takes?(method.arity, arity) }.map { |name, _| label(name) }
      end

      def apply
        return if @applied

        stock = (@arities.keys - @wrapped).map { |name| [name, library(name)] }
        @where.__send__(:include, @methods)
        stock.each { |name, method| replace(name, method) unless ours?(method) }
        @applied = true # last: what is done twice is done once
      end

      # Puts the library's methods back. A method that another gem has wrapped since stays below the wrapper; it is one test and a
      # call. Calls under way go on: the methods they call are kept.
      def remove
        return unless @applied

        @wrapped = @arities.keys.reject { |name| ours?(library(name)) && put_back(name) }
        @applied = false
      end

      # @return [Hash{String => String}] each method, and whether it is on
      def states
        Hash[@arities.keys.map { |name| [label(name), @applied ? "on" : "off"] }]
      end

      private

      def replace(name, stock)
        kept = :"onewrite_stock_#{name}"
        visibility = @where.private_method_defined?(name) ? :private : :public
        @where.__send__(:define_method, kept, stock)
        @where.__send__(:private, kept)
        stock.arity == @arities[name] ? @where.__send__(:define_method, name, @methods.instance_method(name)) : widen(name)
        @where.__send__(visibility, name)
      end

      def ours?(method)
        !method.nil? && method.owner == @where && method.source_location.to_a.first.to_s.start_with?(__dir__)
      end

      # @return [true]
      def put_back(name)
        visibility = @where.private_method_defined?(name) ? :private : :public
        stock = @where.instance_method(:"onewrite_stock_#{name}")
        @where.__send__(:define_method, name, stock)
        @where.__send__(visibility, name)
        true
      end

      # Another gem has given the library's method further parameters: a call that uses them is the gem's alone.
      def widen(name)
        @where.__send__(:define_method, :"onewrite_new_#{name}", @methods.instance_method(name))
        @where.__send__(:private, :"onewrite_new_#{name}")
        @where.class_eval(<<-RUBY, __FILE__, __LINE__ + 1)
          def #{name}(*args, &block)
            args.size == #{@arities[name]} ? onewrite_new_#{name}(*args, &block) : onewrite_stock_#{name}(*args, &block)
          end
          ruby2_keywords(:#{name}) if respond_to?(:ruby2_keywords, true)
        RUBY
      end

      # The library's method, below those of modules that were prepended to the class.
      # @return [UnboundMethod, nil] nil also where this Ruby cannot find it below such a module (2.1; JRuby)
      def library(name)
        method = find(name)
        while method && (prepended?(method.owner) || method.owner == @methods)
          method = method.respond_to?(:super_method) ? method.super_method : nil
        end
        method
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
      def takes?(parameters, arity)
        parameters == arity || (parameters < 0 && -parameters - 1 <= arity)
      end

      def label(name)
        "#{@where.inspect[/Net::\w+/]}#{@where.is_a?(Class) && @where.inspect.start_with?("#<") ? "." : "#"}#{name}"
      end
    end
  end
end
