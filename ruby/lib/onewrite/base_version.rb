# frozen_string_literal: true

require "net/http"

module Onewrite
  # Which net/http this is, and whether it has the methods that the adapter patches.
  module BaseVersion
    # One method that is patched.
    Point = Struct.new(:where, :name, :arity, :patch) do
      # @return [Module, nil] the module whose definition is called first
      def owner
        method&.owner
      end

      # Whether it takes the arguments it will be given. Another gem may have wrapped it with a splat.
      def known?
        found = method&.arity
        found == arity || (!found.nil? && found.negative? && -found - 1 <= arity)
      end

      def method
        where.instance_method(name)
      rescue NameError
        nil
      end

      def to_s
        "#{where.singleton_class? ? "Net::HTTPResponse." : "#{where}#"}#{name}"
      end
    end

    # @return [String]
    def self.to_s
      defined?(Net::HTTP::VERSION) ? Net::HTTP::VERSION : "of Ruby #{RUBY_VERSION}"
    end

    # Net::HTTP has had a version of its own since 0.1. A major version below 2 that has all the methods counts as known.
    # @param points [Array<Point>] the methods to be patched
    # @return [String, nil] why this net/http is unknown
    def self.unknown(points)
      return "unknown version of net-http" if defined?(Net::HTTP::VERSION) && Net::HTTP::VERSION !~ /\A[01]\./

      missing = points.reject(&:known?)
      missing.empty? ? nil : "net-http has no #{missing.map(&:to_s).join(", ")} as expected"
    end
  end
end
