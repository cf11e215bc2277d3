# frozen_string_literal: true

module Onewrite
  module OpenTelemetry
    # Requests that the program, or the SDK for its exporters, wants left out. Recording those that export what was recorded
    # would never end.
    module Untraced
      # @return [Boolean]
      def self.now?
        defined?(::OpenTelemetry::Common::Utilities) && ::OpenTelemetry::Common::Utilities.respond_to?(:untraced?) &&
          ::OpenTelemetry::Common::Utilities.untraced?
      end
    end
  end
end
