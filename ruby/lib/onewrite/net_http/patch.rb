# frozen_string_literal: true

require "net/http"

module Onewrite
  # The patches of Net::HTTP.
  module NetHTTP
    # Methods that are laid over those of a class by `prepend`; each calls `super`. They are copied into a module of their own,
    # which stays in the class without methods when they are taken off: Ruby cannot take a module out again.
    #
    # A method that another gem has wrapped before works as before, by `prepend` or by an alias. A prepended method that is
    # aliased afterwards recurses without end: the alias keeps this method, whose `super` is the method of the alias. No known
    # gem aliases those that are patched here. Some alias `request`, `connect`, `start` and `transport_request`: these are not
    # patched.
    class Patch
      # WebMock replaces the constant Net::HTTP by a subclass and takes it away again. The real class is the one below
      # Net::Protocol.
      # @return [Class]
      def self.session
        session = Net::HTTP
        session = session.superclass until session.superclass == Net::Protocol || session.superclass.nil?
        session
      end

      # @return [Boolean] whether the methods are on
      attr_reader :on

      # @param target [Class]
      # @param methods [Module] the new methods, and private ones that they call
      # @param arities [Hash{Symbol => Integer}] parameters of the library's methods
      def initialize(target, methods, arities)
        @target = target
        @methods = methods
        @arities = arities
        @layer = Module.new
        @on = false
      end

      # @return [Array<String>] the methods that the library lacks, or that take other parameters
      def unknown
        @arities.reject { |name, arity| known?(name, arity) }.map { |name, _| "#{@target}##{name}" }
      end

      # @return [nil]
      def apply
        return if @on

        @target.__send__(:prepend, @layer)
        names.each { |name| @layer.__send__(:define_method, name, @methods.instance_method(name)) }
        hidden = @methods.private_instance_methods(false)
        @layer.__send__(:private, *hidden) unless hidden.empty?
        @on = true
        nil
      end

      # @return [nil]
      def remove
        names.each { |name| @layer.__send__(:remove_method, name) } if @on
        @on = false
        nil
      end

      # @return [Array<String>]
      def labels
        @arities.keys.map { |name| "#{@target}##{name}" }
      end

      private

      def names
        @methods.instance_methods(false) + @methods.private_instance_methods(false)
      end

      # Another gem may have wrapped the method with a splat.
      def known?(name, arity)
        [arity, -1].include?(@target.instance_method(name).arity)
      rescue NameError
        name == :ssl_socket_connect # new in Ruby 2.3; before that the handshake is part of connecting
      end
    end
  end
end
