# frozen_string_literal: true

require "onewrite/api"
require "onewrite/config"
require "onewrite/install"
require "onewrite/opentelemetry/log_event"
require "onewrite/opentelemetry/recorder"
require "onewrite/timing/hooks"

module Onewrite
  # Sends records to OpenTelemetry: attributes `onewrite.*` of the span that is current during the call, a log event with the
  # whole record, the waits by cause and the count of requests. No other gem is needed to load this; {install} needs
  # opentelemetry-api.
  #
  # @example
  #   require "onewrite/opentelemetry"
  #   Onewrite::OpenTelemetry.install
  module OpenTelemetry
    class << self
      include Reference

      # Switches it on for all sessions, and the adapter, if that is not on yet; ONEWRITE_DISABLED and the like hold. Before or
      # after the SDK is configured, and before or after other instrumentation. Called again, it takes the new options.
      #
      # Logs need the gem opentelemetry-logs-sdk, metrics opentelemetry-metrics-sdk; without it there are none. The SDK's own
      # requests (`untraced`) are left out.
      # @param logs [Boolean] whether each call is emitted as a log event `onewrite.request`
      # @raise [LoadError] without the gem opentelemetry-api
      # @return [nil]
      def install(logs: true)
        load_api
        Install.install
        remove
        swap(Hooks.add(:timing, Recorder.new((LogEvent.new if logs))))
        nil
      end

      # Switches it off.
      # @return [Boolean] whether it was on
      def remove
        swap(nil)
      end

      private

      # @return [Boolean] whether a hook was there
      def swap(hook)
        before = nil
        replace do |installed|
          before = installed
          hook
        end
        !before.nil? && before.remove
      end

      def load_api
        require "opentelemetry"
      rescue LoadError => e
        raise LoadError, "onewrite/opentelemetry needs the gem opentelemetry-api (#{e.message}): add " \
                         "gem \"opentelemetry-sdk\" to the Gemfile"
      end
    end
  end
end
