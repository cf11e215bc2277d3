# frozen_string_literal: true

require "onewrite/config"

module Onewrite
  # Other HTTP clients that get TCP_NODELAY, for bodies that they write in pieces. Each has a file that a program requires.
  module Clients
    @states = {}

    class << self
      # @return [Hash{String => String}] what is on, by client and version
      attr_reader :states

      # @param known [Regexp] the versions whose means are known
      # @yieldparam on [Boolean] whether new connections get the option; called now, and when an option changes
      def add(name, version, known)
        label = "#{name} #{version}"
        return if @states.key?(label)

        unless known =~ version
          warn "onewrite: #{label} is an unknown version; it works as without onewrite"
          return @states = @states.merge(label => "off: unknown version")
        end
        Config.watch do |config|
          on = config.enabled && config.nodelay
          yield on
          @states = @states.merge(label => on ? "on" : "off")
        end
      end
    end
  end
end
