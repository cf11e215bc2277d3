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
      # @yieldparam on [Boolean] whether new connections get the option; called now, and when that changes. A client whose
      #   connections read the option themselves gives no block.
      def add(name, version, able)
        label = "#{name} #{version}"
        return if @states.key?(label)

        unless able
          warn "onewrite: #{label} has no way to set TCP_NODELAY; it works as without onewrite"
          return @states = @states.merge(label => "off: no way to set the option").freeze
        end
        Config.watch do |config|
          state = config.nodelay ? "on" : "off"
          next if @states[label] == state # what the program has set since stays

          yield config.nodelay if block_given?
          @states = @states.merge(label => state).freeze
        end
      end
    end
  end
end
