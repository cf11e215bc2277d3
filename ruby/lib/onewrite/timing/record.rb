# frozen_string_literal: true

require "onewrite/timing/attempt"
require "onewrite/timing/origin"
require "onewrite/timing/phases"
require "onewrite/timing/redaction"

module Onewrite
  # The finished record of one call, handed to {Onewrite.on_timing}. Frozen. All `_ns` values are integer nanoseconds;
  # what did not happen is nil, never 0.
  #
  # A call is one request made by `request` (or `get`, `post`, …). It has one attempt, and one more per repetition
  # (`max_retries`). Phases, `status`, `kernel` and the like of the call are those of its last attempt.
  #
  # It holds plain values alone, so Marshal can dump it.
  class Timing
    include Phases

    # @return [String] request method; empty where `start` failed to connect: there was no request yet
    attr_reader :method
    # @return [Symbol, nil] such as :timeout, :reset, :tls, :invalid_request
    attr_reader :error_kind
    # @return [Symbol, nil] the phase it failed in, such as :connect or :wait
    attr_reader :error_phase
    # @return [Integer] wall clock at the start of the call
    attr_reader :started_at_unix_ns
    # @return [Integer] monotonic clock at the start of the call
    attr_reader :started_at_mono_ns

    # @param moments [Moments] of the last attempt
    # @param earlier [Array<Attempt>, nil] the attempts before it
    # @api private
    def initialize(method, origin, path, started_at_mono_ns, started_at_unix_ns, moments, earlier, # rubocop:disable Metrics/ParameterLists -- {Call} alone makes it
                   error_kind, error_phase)
      @method = method
      @origin = origin
      @path = path
      @started_at_mono_ns = started_at_mono_ns
      @started_at_unix_ns = started_at_unix_ns
      @moments = moments.freeze
      @earlier = earlier
      @error_kind = error_kind
      @error_phase = error_phase
      freeze
    end

    # @return [Integer] from start to end of the call
    def total_ns
      @moments.ended - started_at_mono_ns
    end

    # @return [String] with the query, but without user and password and the values that sign a URL; keep it out of logs
    #   if its query may hold other secrets
    def url
      Redaction.url(Origin.join(@origin, @path))
    end

    # @return [Array<Attempt>] frozen; one or more, also where the request was refused; empty where another gem's module
    #   answered in the library's place
    def attempts
      (@moments.index ? [*@earlier, Attempt.new(@moments)] : []).freeze
    end

    # @return [String] one line for people: `POST http://… 200 in 41.9 ms: send 0.1, wait 41.7 (held 41.6:
    #   nagle_delayed_ack), receive 0.0; reused conn 3`. The form is that of all languages (spec/testdata/text_form.json).
    def to_s
      head = [method, url, status, failure].compact.join(" ").lstrip
      said = PHASES.map { |name| said(name) }.compact.join(", ")
      text = "#{head} in #{milliseconds(total_ns)} ms"
      text += ": #{said}" unless said.empty?
      text += "; #{reused ? "reused" : "new"} conn #{conn_id}" if conn_id
      text += "; attempt #{attempts.size}" if attempts.size > 1
      text
    end

    # @return [Hash{Symbol => Object}] without what is nil
    def to_h
      {
        method: method, url: url, outcome: outcome, error_kind: error_kind, error_phase: error_phase,
        started_at_unix_ns: started_at_unix_ns, started_at_mono_ns: started_at_mono_ns, total_ns: total_ns,
        status: status, conn_id: conn_id, reused: reused, kernel: (kernel && kernel.to_h), cause: cause,
        queue_ns: queue_ns, dns_ns: dns_ns, connect_ns: connect_ns, tls_ns: tls_ns,
        send_ns: send_ns, wait_ns: wait_ns, receive_ns: receive_ns,
        server_timing: (server_timing && server_timing.map(&:to_h)), server_ns: server_ns, network_ns: network_ns,
        attempts: attempts.map(&:to_h)
      }.reject { |_, value| value.nil? }
    end

    # @return [String] the one line of {to_s}; the variables hold the URL with its secrets
    def inspect
      "#<#{self.class} #{self}>"
    end

    PHASES = %i[connect tls send wait receive].freeze
    private_constant :PHASES

    private

    # What became of a call that did not go well.
    def failure
      return nil if outcome == :ok

      why = [(error_kind unless outcome == :cancelled), ("in #{error_phase}" if error_phase)].compact.join(" ")
      why.empty? ? outcome : "#{outcome} (#{why})"
    end

    def said(name)
      value = public_send("#{name}_ns")
      return nil unless value

      text = "#{name} #{milliseconds(value)}"
      return text unless name == :wait

      text += " (#{why})" if cause
      text += " = server #{milliseconds(server_ns)} + network #{milliseconds(network_ns)}" if network_ns
      text
    end

    def why
      cause == :server ? "server" : "held #{milliseconds(kernel.send_hold_ns)}: #{cause}"
    end

    def milliseconds(nanoseconds)
      format("%.1f", nanoseconds / 1e6)
    end
  end
end
