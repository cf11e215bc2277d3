# frozen_string_literal: true

require "onewrite/version"

module Onewrite
  module OpenTelemetry
    # The metrics' instruments, made from one meter provider.
    class Instruments
      SECONDS = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10].freeze
      # Boundaries of the histograms' buckets, in seconds. That of 35 ms keeps stalls of 40 ms apart from what is quicker.
      BUCKETS = {
        "http.client.request.duration" => SECONDS,
        "onewrite.wait.duration" => [0.001, 0.0025, 0.005, 0.01, 0.02, 0.035, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10].freeze,
        "http.client.connection.duration" => [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300].freeze
      }.freeze
      private_constant :SECONDS

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

        # Instruments of the proxy would begin to count in the middle of a connection.
        def proxy?(provider)
          defined?(::OpenTelemetry::Internal::ProxyMeterProvider) &&
            provider.is_a?(::OpenTelemetry::Internal::ProxyMeterProvider)
        end
      end

      # @return [Object] histogram
      attr_reader :request_duration, :wait, :connection_duration
      # @return [Object] counter that goes up and down
      attr_reader :open_connections
      # @return [Object] counter
      attr_reader :requests

      def initialize(provider)
        view_buckets(provider)
        meter = provider.meter("onewrite", version: VERSION)
        @request_duration = histogram(meter, "http.client.request.duration", "Duration of HTTP client requests.")
        @wait = histogram(meter, "onewrite.wait.duration", "From the last write of a request to the first byte of its response.")
        @connection_duration = histogram(meter, "http.client.connection.duration", "How long connections were open.")
        @open_connections = meter.create_up_down_counter("http.client.open_connections", unit: "{connection}",
                                                                                         description: "Open connections.")
        @requests = meter.create_counter("onewrite.requests", unit: "{request}", description: "HTTP client requests.")
      end

      private

      def histogram(meter, name, description)
        meter.create_histogram(name, unit: "s", description: description)
      end

      # In OpenTelemetry for Ruby an instrument cannot name its buckets, and the SDK's own begin at 5 seconds. So each histogram
      # gets a view, unless the program has one for its name.
      def view_buckets(provider)
        return unless provider.respond_to?(:add_view) && provider.respond_to?(:registered_views)

        BUCKETS.each do |name, boundaries|
          next if provider.registered_views.any? { |view| view.name == name }

          aggregation = ::OpenTelemetry::SDK::Metrics::Aggregation::ExplicitBucketHistogram.new(boundaries: boundaries)
          provider.add_view(name, meter_name: "onewrite", aggregation: aggregation)
        end
      end
    end
  end
end
