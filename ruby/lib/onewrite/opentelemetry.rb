# frozen_string_literal: true

require "onewrite"

module Onewrite
  # Sends records to OpenTelemetry: attributes `onewrite.*` on the client span of the request, and two metrics. No other gem is
  # needed to load this; {install} needs opentelemetry-api. Names and values are those of all languages
  # (spec/testdata/opentelemetry.json).
  #
  # @example
  #   require "onewrite/opentelemetry"
  #   Onewrite::OpenTelemetry.install
  module OpenTelemetry
    WAIT = "onewrite.wait.duration"
    # Boundaries of its buckets in seconds. That of 35 ms keeps stalls of 40 ms apart from what is quicker.
    EDGES = [0.001, 0.0025, 0.005, 0.01, 0.02, 0.035, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10].freeze
    # Values of http.request.method in metrics; any other is `_OTHER` (semantic conventions for HTTP).
    METHODS = %w[CONNECT DELETE GET HEAD OPTIONS PATCH POST PUT QUERY TRACE].freeze
    FIELDS = %i[connect_ns tls_ns send_ns wait_ns receive_ns total_ns reused conn_id conn_requests proxy].freeze
    SERVER = %r{\A(https?)://(?:\[([^\]]+)\]|([^/:]+))(?::(\d+))?}.freeze
    private_constant :WAIT, :EDGES, :METHODS, :FIELDS, :SERVER

    @hook = nil
    @meters = [nil, nil].freeze # a meter provider, and the instruments made from it

    class << self
      # Switches it on for all sessions. Before or after the SDK is configured, and before or after other instrumentation. The
      # SDK's own requests (`untraced`) are left out. Metrics need the gem opentelemetry-metrics-sdk.
      # @raise [LoadError] without the gem opentelemetry-api
      # @return [nil]
      def install
        load_api
        @hook ||= Onewrite.on_timing { |record| report(record) }
        nil
      end

      # Switches it off.
      # @return [nil]
      def uninstall
        @hook.remove if @hook
        @hook = nil
      end

      # @param record [Record]
      # @return [Hash{String => String, Integer, Boolean}] phases and what is known of the connection, for a span
      def attributes(record)
        values = FIELDS.map { |name| ["onewrite.#{name}", record.public_send(name)] }
        kernel = record.kernel
        Hash[values].merge(
          "onewrite.cause" => (record.cause && record.cause.to_s), "onewrite.segments_out" => (kernel && kernel.segments_out),
          "onewrite.send_hold_ns" => (kernel && kernel.send_hold_ns), "onewrite.unread_ns" => (kernel && kernel.unread_ns)
        ).reject { |_, value| value.nil? }
      end

      private

      def load_api
        require "opentelemetry"
      rescue LoadError => e
        raise LoadError, "onewrite/opentelemetry needs the gem opentelemetry-api (#{e.message}): add " \
                         "gem \"opentelemetry-sdk\" to the Gemfile"
      end

      def report(record)
        return if untraced?

        span = ::OpenTelemetry::Trace.current_span
        span.add_attributes(attributes(record)) if span_of_request?(span)
        measure(record)
      end

      # Instrumentation of Net::HTTP makes a client span for each request, in which hooks run. Any other span may be about many
      # requests, which would overwrite one another. Of a request and its repetition the first has the span.
      def span_of_request?(span)
        span.recording? && span.respond_to?(:kind) && span.kind == :client &&
          !(span.respond_to?(:attributes) && span.attributes.to_h.key?("onewrite.total_ns"))
      end

      # Whether the program, or the SDK for its exporters, wants this request left out.
      def untraced?
        defined?(::OpenTelemetry::Common::Utilities) && ::OpenTelemetry::Common::Utilities.respond_to?(:untraced?) &&
          ::OpenTelemetry::Common::Utilities.untraced?
      end

      def measure(record)
        wait, requests = instruments
        return unless wait

        server = server(record.url)
        if record.wait_ns
          method = METHODS.include?(record.http_method) ? record.http_method : "_OTHER"
          attributes = server.merge("http.request.method" => method)
          attributes["onewrite.cause"] = record.cause.to_s if record.cause
          wait.record(record.wait_ns / 1e9, attributes: attributes)
        end
        requests.add(1, attributes: server.merge("onewrite.reused" => record.reused)) if record.conn_id
      end

      def server(url)
        return {} unless (parts = SERVER.match(url))

        scheme, ipv6, name, port = parts.captures
        { "server.address" => ipv6 || name, "server.port" => (port || (scheme == "https" ? 443 : 80)).to_i }
      end

      # The instruments of the provider that is there now. They are kept: made again, the SDK would export them twice.
      def instruments
        return unless ::OpenTelemetry.respond_to?(:meter_provider)

        provider = ::OpenTelemetry.meter_provider
        known, made = @meters
        return made if known.equal?(provider)

        @meters = [provider, proxy?(provider) ? nil : make(provider)].freeze
        @meters.last
      end

      # Instruments of the proxy would drop what is recorded before there is an SDK, and later, too.
      def proxy?(provider)
        defined?(::OpenTelemetry::Internal::ProxyMeterProvider) && ::OpenTelemetry::Internal::ProxyMeterProvider === provider
      end

      def make(provider)
        view_buckets(provider)
        meter = provider.meter("onewrite", version: VERSION)
        about = "From the last byte of the request written to the first byte of the response read"
        [meter.create_histogram(WAIT, unit: "s", description: about),
         meter.create_counter("onewrite.requests", unit: "{request}", description: "Requests that got a connection")]
      end

      # An instrument cannot name its buckets, and the SDK's own begin at 5 seconds. So the histogram gets a view, unless the
      # program has one for its name.
      def view_buckets(provider)
        return unless provider.respond_to?(:add_view) && provider.respond_to?(:registered_views)
        return if provider.registered_views.any? { |view| view.name == WAIT }

        aggregation = ::OpenTelemetry::SDK::Metrics::Aggregation::ExplicitBucketHistogram.new(boundaries: EDGES)
        provider.add_view(WAIT, meter_name: "onewrite", aggregation: aggregation)
      end
    end
  end
end
