# frozen_string_literal: true

require "onewrite/config"
require "onewrite/errors"
require "onewrite/install"
require "onewrite/timing/events"
require "onewrite/timing/hooks"
require "onewrite/timing/kernel"
require "onewrite/timing/record"
require "onewrite/version"

# One HTTP request, one write, and where its time went, for Net::HTTP.
#
# @example
#   require "onewrite"
#   Onewrite.on_timing { |t| puts "#{t.method} #{t.url} waited #{t.wait_ns} ns (#{t.cause})" }
module Onewrite
  class << self
    # Calls the block once per finished call, with its {Timing}. Runs in the thread of the call, after the response is
    # read. A StandardError, ScriptError or SystemStackError that it raises is swallowed, counted ({status}) and warned of once.
    # A block that sends a request is not called for that request. Hooks add: none replaces another.
    # @yieldparam timing [Timing]
    # @return [Hook] its `remove` takes the block away
    def on_timing(&block)
      raise ArgumentError, "Onewrite.on_timing needs a block" unless block

      Hooks.add(:timing, block)
    end

    # Gives every event of every call to *listener*, for tracers. A listener must not send a request on the session whose call it
    # listens to: that request raises {SessionInUseError}. A block of {on_timing} may.
    # @param listener [TimingListener, #on_event]
    # @return [Hook] its `remove` takes the listener away
    def add_listener(listener)
      raise ArgumentError, "a listener answers on_event: see Onewrite::TimingListener" unless listener.respond_to?(:on_event)

      Hooks.add(:listener, listener)
    end

    # Sets options; they win over the environment, and nil unsets one. They hold for the whole process, from the next request
    # on. See {Config::OPTIONS} for names.
    # @raise [ConfigurationError] for an option that does not exist or a value of the wrong type
    # @return [nil]
    def configure(**options)
      Config.update(options)
      nil
    end

    # Switches the adapter off: from the next request on everything is as in the standard library, and no hook is called. The
    # library's methods are put back.
    # @return [nil]
    def disable!
      Config.disable!
      Install.uninstall
    end

    # Switches the adapter on: undoes {disable!} and ONEWRITE_DISABLED, and patches if only "onewrite/api" was loaded.
    # @return [nil]
    def enable!
      Config.enable!
      Install.install
      nil
    end

    # @return [Boolean] whether requests made now go through the adapter
    def enabled?
      Install.enabled?
    end

    # What is patched, with which options, and what is off for which reason.
    # @return [Hash{Symbol => Object}]
    def status
      Install.status
    end
  end

  private_constant :BaseVersion, :Clients, :Clock, :ErrorKind, :Hooks, :Install, :Plain, :Redact, :Reference, :TcpInfo,
                   :Wire
end
