# frozen_string_literal: true

require "onewrite/version"

module Onewrite
  module OpenTelemetry
    # Emits a log event for each call, with the context of the current span.
    class LogEvent
      NAME = "onewrite.request"

      def initialize
        @provider = @logger = @named = nil
      end

      def emit(timing, attributes)
        logger = self.logger or return
        fields = { severity_number: 9, severity_text: "INFO", timestamp: ended(timing), body: plain(timing.to_h) }
        if @named
          fields[:event_name] = NAME
        else
          attributes = { "event.name" => NAME }.merge(attributes) # opentelemetry-logs-api before 0.4
        end
        logger.on_emit(**fields, attributes: plain(attributes))
      end

      private

      # The logger of the SDK that is configured now, else nil. A logger of the API's proxy would drop everything, also later.
      def logger
        return nil unless ::OpenTelemetry.respond_to?(:logger_provider)

        provider = ::OpenTelemetry.logger_provider
        return @logger if provider.equal?(@provider)

        proxy = defined?(::OpenTelemetry::Internal::ProxyLoggerProvider)
        @logger = proxy && provider.is_a?(::OpenTelemetry::Internal::ProxyLoggerProvider) ? nil : logger_of(provider)
        @named = @logger && @logger.method(:on_emit).parameters.include?(%i[key event_name])
        @provider = provider
        @logger
      end

      # The SDK's method has keywords, the API's has none.
      def logger_of(provider)
        keywords = provider.method(:logger).parameters.any? { |kind, _| %i[key keyreq].include?(kind) }
        keywords ? provider.logger(name: "onewrite", version: VERSION) : provider.logger("onewrite", VERSION)
      end

      def ended(timing)
        Time.at(0, timing.started_at_unix_ns + timing.total_ns, :nsec)
      end

      # Strings, numbers, true and false, in Arrays and Hashes with Strings as keys: what an exporter takes.
      def plain(value)
        case value
        when Hash then Hash[value.map { |name, entry| [name.to_s, plain(entry)] }]
        when Array then value.map { |entry| plain(entry) }
        when String, Symbol then value.to_s.dup.force_encoding(Encoding::UTF_8).scrub
        else value
        end
      end
    end
  end
end
