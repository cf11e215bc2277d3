# frozen_string_literal: true

require "onewrite/opentelemetry/connections"
require "onewrite/opentelemetry/instruments"
require "onewrite/opentelemetry/untraced"
require "onewrite/timing/mappers"

module Onewrite
  module OpenTelemetry
    # The hook: gets each record at the end of its call. Instrumentation of Net::HTTP wraps `request`, so its span is still
    # current and open then, whichever of the two was loaded first.
    class Recorder
      # Values of http.request.method in metrics; any other is `_OTHER` (semantic conventions for HTTP).
      METHODS = %w[CONNECT DELETE GET HEAD OPTIONS PATCH POST PUT QUERY TRACE].freeze
      REQUEST = %w[http.request.method server.address server.port http.response.status_code error.type].freeze
      WAIT = %w[http.request.method server.address server.port].freeze
      SERVER = %w[server.address server.port].freeze
      private_constant :METHODS, :REQUEST, :WAIT, :SERVER

      # @return [Connections]
      attr_reader :connections

      # @param log_event [LogEvent, nil]
      # @param request_duration [Boolean]
      def initialize(log_event, request_duration)
        @log_event = log_event
        @request_duration = request_duration
        @connections = Connections.new
      end

      # @param timing [Timing]
      def call(timing)
        return if Untraced.now?

        attributes = Mappers.otel_attributes(timing)
        phases = Mappers.otel_phases(timing)
        span = ::OpenTelemetry::Trace.current_span
        span.add_attributes(phases) if span.recording?
        @log_event.emit(timing, attributes.merge(phases)) if @log_event
        @connections.forget_lost
        measure(timing, attributes)
      end

      private

      def measure(timing, attributes)
        instruments = Instruments.now or return

        attributes["http.request.method"] = "_OTHER" unless METHODS.include?(timing.method)
        took = Mappers.otel_metrics(timing)["http.client.request.duration"]
        instruments.request_duration.record(took, attributes: attributes.slice(*REQUEST)) if took && @request_duration
        timing.attempts.each do |attempt|
          wait(instruments, attempt, attributes.slice(*WAIT))
          next if attempt.reused.nil? # it got no connection

          instruments.requests.add(1, attributes: attributes.slice(*SERVER).merge("onewrite.reused" => attempt.reused))
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
