# frozen_string_literal: true

require "onewrite/config"

module Onewrite
  # Other HTTP clients that get TCP_NODELAY, for bodies that they write in pieces. Each has a file that a program requires.
  module Clients
    @states = {}.freeze

    class << self
      # @return [Hash{String => String}] what is on, by client and version
      attr_reader :states

      # @param able [Boolean] whether this version has what sets the option
      # @yieldparam on [Boolean] whether new connections get the option; called now, and when an option changes
      def add(name, version, able)
        label = "#{name} #{version}"
        return if @states.key?(label)

        unless able
          warn "onewrite: #{label} has no way to set TCP_NODELAY; it works as without onewrite"
          return @states = @states.merge(label => "off: no way to set the option").freeze
        end
        Config.watch do |config|
          yield config.nodelay
          @states = @states.merge(label => config.nodelay ? "on" : "off").freeze
        end
      end
    end
  end
end
