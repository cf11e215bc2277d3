# frozen_string_literal: true

module Onewrite
  # The notes of one attempt: readings of the clock, counts, and what was read of the response and the kernel. Plain values,
  # nil for a step that did not happen. {Call} fills it in; {Phases} computes from it.
  Moments = Struct.new(
    :index, :outcome, :status, :conn_id, :conn_requests, :idle_since, :attempt_started, :acquired, :connect_start,
    :connect_end, :tls_start, :tls_end, :request_start, :request_end, :response_start, :response_end, :ended,
    :bytes_sent, :writes, :bytes_received, :server_timing_fields, :nodelay, :counters_before, :counters_sent, :counters_answered
  ) do
    # @return [Symbol, nil] the phase that the attempt is in, for the record of an error
    def phase
      return nil unless index
      return tls_start ? :tls : :connect unless conn_id
      return :send unless request_end

      response_start ? :receive : :wait
    end
  end
end
