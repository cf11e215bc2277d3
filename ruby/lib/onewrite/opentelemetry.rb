# frozen_string_literal: true

require "onewrite/api"
require "onewrite/install"
require "onewrite/opentelemetry/attributes"
require "onewrite/opentelemetry/instruments"
require "onewrite/opentelemetry/log_event"
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
    @hook = nil

    class << self
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
        @hook = Hooks.add(:timing, Recorder.new((LogEvent.new if logs)))
        nil
      end

      # Switches it off.
      # @return [Boolean] whether it was on
      def remove
        hook = @hook
        @hook = nil
        !hook.nil? && hook.remove
      end

      private

      def load_api
        require "opentelemetry"
      rescue LoadError => e
        raise LoadError, "onewrite/opentelemetry needs the gem opentelemetry-api (#{e.message}): add " \
                         "gem \"opentelemetry-sdk\" to the Gemfile"
      end
    end

    # The hook: gets each record at the end of its call. Instrumentation of Net::HTTP wraps `request`, so its span is still
    # current and open then, whichever of the two was loaded first.
    class Recorder
      # Values of http.request.method in metrics; any other is `_OTHER` (semantic conventions for HTTP).
      METHODS = %w[CONNECT DELETE GET HEAD OPTIONS PATCH POST PUT QUERY TRACE].freeze
      WAIT = %w[http.request.method server.address server.port].freeze
      SERVER = %w[server.address server.port].freeze
      private_constant :METHODS, :WAIT, :SERVER

      def initialize(log_event)
        @log_event = log_event
      end

      def call(timing)
        return if untraced?

        attributes = Attributes.of_call(timing)
        phases = Attributes.of_phases(timing)
        span = ::OpenTelemetry::Trace.current_span
        span.add_attributes(phases) if span.recording?
        @log_event.emit(timing, attributes.merge(phases)) if @log_event
        measure(timing, attributes)
      end

      private

      # Whether the program, or the SDK for its exporters, wants this request left out. Recording an exporter's own requests
      # would loop.
      def untraced?
        defined?(::OpenTelemetry::Common::Utilities) && ::OpenTelemetry::Common::Utilities.respond_to?(:untraced?) &&
          ::OpenTelemetry::Common::Utilities.untraced?
      end

      def measure(timing, attributes)
        instruments = Instruments.now or return

        attributes["http.request.method"] = "_OTHER" unless METHODS.include?(timing.method)
        timing.attempts.each do |attempt|
          wait(instruments, attempt, attributes.select { |name, _| WAIT.include?(name) })
          next if attempt.reused.nil? # it got no connection

          server = attributes.select { |name, _| SERVER.include?(name) }
          instruments.requests.add(1, attributes: server.merge("onewrite.reused" => attempt.reused))
        end
      end

      def wait(instruments, attempt, attributes)
        return unless attempt.wait_ns

        attributes["onewrite.cause"] = attempt.cause.to_s if attempt.cause
        instruments.wait.record(attempt.wait_ns / 1e9, attributes: attributes)
      end
    end
  end
end
