# frozen_string_literal: true

require "onewrite/timing/call"
require "onewrite/timing/clock"
require "onewrite/timing/events"
require "onewrite/timing/hooks"
require "onewrite/timing/redaction"

module Onewrite
  # A call that tells listeners its events in order, as they happen. Interrupts from other threads (Timeout, Thread#raise) are
  # deferred while a listener runs: by the caller at the beginning and end of the call, here at each event in between.
  class ToldCall < Call
    NO_FIELDS = {}.freeze
    private_constant :NO_FIELDS

    # @param listeners [Array<#on_event>]
    def initialize(listeners, method, origin, path, started)
      super(method, origin, path, started)
      @listeners = listeners
      @released = @headed = false
      @undisturbed = true
      tell(:call_start, started_at_mono_ns, { method: method, url: url, started_at_unix_ns: started_at_unix_ns })
      @undisturbed = false
    end

    def attempt_start
      super
      tell(:attempt_start, attempt_started)
    end

    def connect(connecting, failed_at = nil, error = nil)
      super
      why = error ? "#{error.class}: #{Redaction.message(error.message)}" : "given up"
      failure = failed_at ? { error: why } : NO_FIELDS
      tell(:connect_start, connect_start)
      tell(:connect_end, connect_end, tls_start ? NO_FIELDS : failure)
      return unless tls_start

      tell(:tls_start, tls_start)
      tell(:tls_end, tls_end, failure)
    end

    def acquire(*)
      @acquired = Clock.now
      super
      fields = { conn_id: conn_id, reused: reused, conn_requests: conn_requests }
      fields[:idle_ns] = idle_ns if idle_ns
      tell(:connection_acquired, @acquired, fields)
    end

    def writing(size)
      first = bytes.nil?
      super
      tell(:request_start, request_start) if first
    end

    def sent(connection)
      super
      tell_sent if request_end
    end

    def status_line(code, now)
      sent_before = request_end
      super
      return unless response_start

      tell_sent if request_end && !sent_before
      tell(:response_start, now)
    end

    def headers_end(response)
      super
      return if @headed

      @headed = true
      tell(:headers_end, Clock.now, { status: status })
    end

    def received(bytes)
      return if response_end

      super
      tell(:response_end, response_end, bytes ? { bytes: bytes.to_i } : NO_FIELDS)
    end

    def complete(response, socket)
      @undisturbed = true
      headers_end(response)
      received(nil)
      released(!socket.closed?) if conn_id
      finish(:ok)
    end

    def finish(outcome, error = nil)
      @undisturbed = true
      now = super
      fields = { outcome: outcome }
      fields[:error_kind] = error_kind if error_kind
      fields[:error_phase] = error_phase if error_phase
      tell(:call_end, now, fields, nil)
      @listeners = nil # the record does not keep them
      now
    end

    private

    def interim(status, now)
      super
      tell(:informational, now, { status: status })
    end

    def final(code)
      super
      tell(:response_start, response_start)
    end

    def end_attempt(outcome)
      released(false) if conn_id && !@released
      super
      @released = @headed = false
      tell(:attempt_end, ended, { outcome: outcome }) if index
    end

    def released(reusable)
      @released = true
      tell(:connection_released, Clock.now, { reusable: reusable })
    end

    def tell_sent
      tell(:request_end, request_end, { bytes: bytes, writes: count })
    end

    def tell(name, now, fields = NO_FIELDS, attempt = index)
      event = Event.new(name, now, attempt, fields)
      return give(event) if @undisturbed

      Thread.handle_interrupt(Hooks::NEVER) { give(event) }
    end

    def give(event)
      @listeners.each { |listener| Hooks.tell(listener, event) }
    end
  end
end
