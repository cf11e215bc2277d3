# frozen_string_literal: true

module Onewrite
  module OpenTelemetry
    # A record in the words of OpenTelemetry. All languages give the values of spec/testdata/mappers.json.
    module Attributes
      # A URL that names a host and a port.
      SERVER = %r{\A(https?)://(?:\[([^\]]+)\]|([^/\\?#:]+))(?::(\d*))?(?=[/\\?#]|\z)}i.freeze
      PHASES = %i[queue_ns dns_ns connect_ns tls_ns send_ns wait_ns receive_ns total_ns].freeze
      private_constant :SERVER, :PHASES

      class << self
        # Attributes of an HTTP client span (OpenTelemetry semantic conventions for HTTP, stable names). `error.type` is the
        # error kind, or the status as text from 400 on; `http.request.resend_count` is there from the first repetition on.
        # @return [Hash{String => String, Integer}]
        def of_call(timing)
          {
            "http.request.method" => (timing.method unless timing.method.empty?), "url.full" => timing.url,
            "http.response.status_code" => timing.status,
            "http.request.resend_count" => (timing.attempts.size - 1 if timing.attempts.size > 1),
            "error.type" => error_type(timing)
          }.merge(server(timing.url)).reject { |_, value| value.nil? }
        end

        # Attributes `onewrite.*` of the last attempt, for the span of a client that has the names of {of_call} already: phases
        # and what is known of the connection. What did not happen is left out.
        # @return [Hash{String => String, Integer, Boolean}]
        def of_phases(timing)
          kernel = timing.kernel
          Hash[PHASES.map { |name| ["onewrite.#{name}", timing.public_send(name)] }].merge(
            "onewrite.cause" => (timing.cause && timing.cause.to_s), "onewrite.segments_out" => (kernel && kernel.segments_out),
            "onewrite.send_hold_ns" => (kernel && kernel.send_hold_ns), "onewrite.reused" => timing.reused,
            "onewrite.conn_id" => timing.conn_id, "onewrite.conn_requests" => timing.conn_requests,
            "onewrite.proxy" => timing.proxy,
            "onewrite.attempts" => timing.attempts.size
          ).reject { |_, value| value.nil? }
        end

        private

        def error_type(timing)
          return timing.error_kind.to_s if timing.error_kind

          timing.status.to_s if timing.status.to_i >= 400
        end

        # server.address and server.port; empty where *url* does not name them.
        def server(url)
          return {} unless (parts = SERVER.match(url))

          scheme, ipv6, name, port = parts.captures
          default = scheme.casecmp("https").zero? ? 443 : 80
          { "server.address" => ipv6 || name, "server.port" => port.to_s.empty? ? default : port.to_i }
        end
      end
    end
  end
end
