# frozen_string_literal: true

require "onewrite/version"

module Onewrite
  module OpenTelemetry
    # The metrics' instruments, made from one meter provider.
    class Instruments
      # The histogram, and the boundaries of its buckets in seconds. That of 35 ms keeps stalls of 40 ms apart from what is
      # quicker.
      WAIT = "onewrite.wait.duration"
      EDGES = [0.001, 0.0025, 0.005, 0.01, 0.02, 0.035, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10].freeze
      private_constant :WAIT, :EDGES

      @lock = Mutex.new
      @provider = @made = nil

      class << self
        # The instruments of the provider that is there now. They are kept: made again, the SDK would export them twice.
        # @return [Instruments, nil] nil without an SDK for metrics, or before it is configured
        def now
          return nil unless ::OpenTelemetry.respond_to?(:meter_provider)

          provider = ::OpenTelemetry.meter_provider
          return @made if provider.equal?(@provider)

          @lock.synchronize do
            @made = proxy?(provider) ? nil : new(provider) unless provider.equal?(@provider)
            @provider = provider
            @made
          end
        end

        private

        # Instruments of the proxy would drop what is recorded before there is an SDK, and later, too.
        def proxy?(provider)
          defined?(::OpenTelemetry::Internal::ProxyMeterProvider) &&
            provider.is_a?(::OpenTelemetry::Internal::ProxyMeterProvider)
        end
      end

      # The histogram and the counter.
      attr_reader :wait, :requests

      def initialize(provider)
        view_buckets(provider)
        meter = provider.meter("onewrite", version: VERSION)
        @wait = meter.create_histogram(
          WAIT, unit: "s", description: "From the last byte of the request written to the first byte of the response read"
        )
        @requests = meter.create_counter("onewrite.requests", unit: "{request}", description: "Requests that got a connection")
      end

      private

      # In OpenTelemetry for Ruby an instrument cannot name its buckets, and the SDK's own begin at 5 seconds. So the histogram
      # gets a view, unless the program has one for its name.
      def view_buckets(provider)
        return unless provider.respond_to?(:add_view) && provider.respond_to?(:registered_views)
        return if provider.registered_views.any? { |view| view.name == WAIT }

        aggregation = ::OpenTelemetry::SDK::Metrics::Aggregation::ExplicitBucketHistogram.new(boundaries: EDGES)
        provider.add_view(WAIT, meter_name: "onewrite", aggregation: aggregation)
      end
    end
  end
end
