# frozen_string_literal: true

module Onewrite
  # Timing records in other formats: OpenTelemetry, W3C Resource Timing, HAR. Each method returns a Hash of strings and
  # numbers, ready for a span, a meter or JSON, and needs no other gem. All languages give the values of
  # spec/testdata/mappers.json.
  module Mappers
    # A URL whose host and port can be told.
    SERVER = %r{\A(https?)://(?:\[([^\]]+)\]|([^/\\?#:]+))(?::(\d*))?(?=[/\\?#]|\z)}i.freeze
    PHASES = %i[queue_ns dns_ns connect_ns tls_ns send_ns wait_ns receive_ns total_ns server_ns network_ns].freeze
    private_constant :SERVER, :PHASES

    class << self
      # Attributes of an HTTP client span (OpenTelemetry semantic conventions for HTTP, stable names). `error.type` is the
      # error kind, or the status as text from 400 on; `http.request.resend_count` is there from the first repetition on.
      # @param timing [Timing]
      # @return [Hash{String => String, Integer}]
      def otel_attributes(timing)
        {
          "http.request.method" => (timing.method unless timing.method.empty?), "url.full" => timing.url,
          "http.response.status_code" => timing.status,
          "http.request.resend_count" => (timing.attempts.size - 1 if timing.attempts.size > 1),
          "error.type" => error_type(timing)
        }.merge(server(timing.url)).reject { |_, value| value.nil? }
      end

      # Attributes `onewrite.*` of the last attempt, for the span of a client that has the names of {otel_attributes} already:
      # phases and what is known of the connection. What did not happen is left out.
      # @param timing [Timing]
      # @return [Hash{String => String, Integer, Boolean}]
      def otel_phases(timing)
        kernel = timing.kernel
        found = PHASES.map { |name| ["onewrite.#{name}", timing.public_send(name)] }.to_h
        found.merge(
          "onewrite.cause" => (timing.cause && timing.cause.to_s), "onewrite.segments_out" => (kernel && kernel.segments_out),
          "onewrite.send_hold_ns" => (kernel && kernel.send_hold_ns), "onewrite.reused" => timing.reused,
          "onewrite.conn_id" => timing.conn_id, "onewrite.conn_requests" => timing.conn_requests,
          "onewrite.attempts" => timing.attempts.size
        ).reject { |_, value| value.nil? }
      end

      # Metrics by name, in seconds. `http.client.request.duration` is that of the last attempt, from its start to the
      # first byte of the final response, or to its end where none came. Net::HTTP has no pool, so there is no time in a
      # queue.
      # @param timing [Timing]
      # @return [Hash{String => Float}]
      def otel_metrics(timing)
        last = timing.attempts.last
        return {} unless last

        took = (last.moment(:response_start) || last.moment(:ended)) - last.moment(:attempt_started)
        { "http.client.request.duration" => [took, 1].max / 1e9 }
      end

      # A PerformanceResourceTiming entry of the last attempt (W3C Resource Timing), in milliseconds from the start of the
      # call. Steps that did not happen collapse to `fetchStart`, as the standard has it; `secureConnectionStart` is 0
      # without TLS. What was never reached is 0.
      # @param timing [Timing]
      # @return [Hash{String => String, Float, Integer, Array}]
      def resource_timing(timing)
        entry = { "name" => timing.url, "entryType" => "resource", "startTime" => 0.0 }
        last = timing.attempts.last
        entry.merge!(steps(last, timing.started_at_mono_ns)) if last
        entry["serverTiming"] = server_timing(timing.server_timing) if timing.server_timing
        entry.merge!("duration" => timing.total_ns / 1e6)
      end

      # The times of an HAR 1.2 entry of the last attempt, in milliseconds; -1 is what did not happen. HAR counts TLS in
      # `connect` as well as in `ssl`.
      # @param timing [Timing]
      # @return [Hash{String => String, Float, Hash}]
      def har_timings(timing)
        connect = timing.connect_ns && (timing.connect_ns + timing.tls_ns.to_i)
        {
          "startedDateTime" => Time.at(0, timing.started_at_unix_ns / 1_000_000 * 1000).utc.strftime("%FT%T.%LZ"),
          "time" => timing.total_ns / 1e6,
          "timings" => {
            "blocked" => -1, "dns" => -1, "connect" => har(connect), "ssl" => har(timing.tls_ns),
            "send" => har(timing.send_ns), "wait" => har(timing.wait_ns), "receive" => har(timing.receive_ns)
          }
        }
      end

      # @return [Hash{String => String, Integer}] server.address and server.port; empty where *url* does not tell
      # @api private
      def server(url)
        return {} unless (found = SERVER.match(url))

        scheme, ipv6, name, port = found.captures
        default = scheme.casecmp("https").zero? ? 443 : 80
        { "server.address" => ipv6 || name, "server.port" => port.to_s.empty? ? default : port.to_i }
      end

      private

      def error_type(timing)
        return timing.error_kind.to_s if timing.error_kind

        timing.status.to_s if timing.status.to_i >= 400
      end

      def steps(last, origin)
        at = ->(name, otherwise = 0.0) { (moment = last.moment(name)) ? (moment - origin) / 1e6 : otherwise }
        fetch = at[:attempt_started]
        {
          "fetchStart" => fetch, "domainLookupStart" => fetch, "domainLookupEnd" => fetch,
          "connectStart" => at[:connect_start, fetch], "secureConnectionStart" => at[:tls_start],
          "connectEnd" => at[:tls_end, at[:connect_end, fetch]], "requestStart" => at[:request_start],
          "responseStart" => at[:response_start], "responseEnd" => at[:response_end],
          "responseStatus" => last.status || 0, "encodedBodySize" => last.bytes_received || 0,
          "nextHopProtocol" => "http/1.1"
        }
      end

      def server_timing(entries)
        entries.map do |one|
          { "name" => one.name, "duration" => one.duration_ns.to_i / 1e6, "description" => one.description.to_s }
        end
      end

      def har(nanoseconds)
        nanoseconds ? nanoseconds / 1e6 : -1
      end
    end
  end
end
