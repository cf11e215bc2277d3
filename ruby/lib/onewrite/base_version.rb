# frozen_string_literal: true

require "net/http"

module Onewrite
  # Which net-http and net-protocol these are, and whether they have what the adapter patches and uses.
  module BaseVersion
    class << self
      # @return [String]
      def to_s
        defined?(Net::HTTP::VERSION) ? Net::HTTP::VERSION : "of Ruby #{RUBY_VERSION}"
      end

      # net-http is a gem with a version since 0.1. A major version below 2 with all the methods counts as known.
      # @param patches [Array<NetHTTP::Patch>] what is to be patched
      # @return [String, nil] why this net-http or net-protocol is unknown
      def unknown(patches)
        return "unknown version of net-http" if defined?(Net::HTTP::VERSION) && Net::HTTP::VERSION !~ /\A[01]\./

        missing = patches.map(&:unknown).flatten
        missing = unknown_names if missing.empty?
        missing.empty? ? nil : "net-http or net-protocol has no #{missing.join(", ")} as expected"
      end

      private

      # The private names that the adapter uses, as far as new objects have them.
      def unknown_names
        missing = Net::BufferedIO.private_method_defined?(:rbuf_fill) ? [] : ["Net::BufferedIO#rbuf_fill"]
        missing + variables(Net::BufferedIO.new(nil), %i[@io @rbuf @debug_output]) +
          variables(Net::HTTPResponse.new("1.1", "200", "OK"), %i[@read]) +
          variables(Net::HTTPGenericRequest.new("POST", true, true, "/"), %i[@body @body_stream @body_data])
      rescue StandardError => e
        ["objects as expected (#{e.class}: #{e.message})"]
      end

      def variables(object, names)
        (names - object.instance_variables).map { |name| "#{object.class}##{name}" }
      end
    end
  end
end
