# frozen_string_literal: true

require "onewrite/config"
require "onewrite/net_http/connection"
require "onewrite/net_http/session"
require "onewrite/timing/hooks"
require "onewrite/timing/record"

module Onewrite
  module NetHTTP
    # For Net::HTTP, in place when the first hook is set: where a call begins and ends.
    module TimedSession
      private

      # `start` connects outside of any request.
      # Why this method: it wraps `connect` and is called for `start` alone.
      # Not known here: the request that will use the connection. The record of a `start` that fails has an empty method.
      def do_start
        outer = Thread.current[CALL]
        hooks = onewrite_hooks(outer)
        return onewrite_untimed_do_start unless hooks

        begin
          call = Timing.new(self, use_ssl?, address, port, "", "/")
          Thread.current[CALL] = call
          onewrite_untimed_do_start
          connection = @socket.instance_variable_get(Connection::IVAR) || onewrite_adopt
          connection.opening = call
          started = true
        rescue Exception => e # rubocop:disable Lint/RescueException -- raised again
          raise
        ensure
          Thread.current[CALL] = outer
          onewrite_not_started(call, hooks, e, outer) if call && !started
        end
      end

      # The TLS handshake. In Net::Protocol since Ruby 2.3; before that the handshake is part of `connect`.
      def ssl_socket_connect(*args)
        call = Thread.current[CALL]
        return onewrite_untimed_ssl_socket_connect(*args) unless call && call.owner.equal?(self)

        call.tls_start = Clock.now
        onewrite_untimed_ssl_socket_connect(*args).tap { call.tls_end = Clock.now }
      end
      ruby2_keywords(:ssl_socket_connect) if respond_to?(:ruby2_keywords, true)

      # One request with its repetitions.
      # Why this method: it wraps all attempts, and whatever ends the request early passes here (an error, `break`,
      # Timeout.timeout, Thread#kill).
      # Not measured: what tracers and the program do around `request`.
      #
      # One long method, because each method call costs. Interrupts are deferred only while a call that failed is sealed, so that
      # each call has one record and one end.
      def transport_request(req, &block) # rubocop:disable Metrics
        outer = Thread.current[CALL] # when this request is made in a hook or in the block of another one
        hooks = onewrite_hooks(outer)
        return onewrite_not_timed(outer) { onewrite_untimed_transport_request(req, &block) } unless hooks

        inside = call = events = nil
        begin
          call = @socket && (connection = @socket.instance_variable_get(Connection::IVAR)) && connection.opening
          if call && call.just_opened?
            connection.opening = nil
            call.request(req.method, req.path)
          else
            call = Timing.new(self, use_ssl?, address, port, req.method, req.path)
          end
          call.within = outer && outer.barred
          unless hooks.listeners.empty?
            call.listeners = hooks.listeners
            events = []
          end
          Thread.current[CALL] = call
          result =
            if block
              onewrite_untimed_transport_request(req) do |res|
                call.emit_headers if events
                inside = true
                yield res
                inside = false
              end
            else
              # Without a block of ours: the library does not repeat a request whose block was called.
              onewrite_untimed_transport_request(req)
            end
          inside = true # the request is complete
          call.complete(result, !@socket.closed?, block, events)
          result
        rescue Exception => e # rubocop:disable Lint/RescueException -- raised again
          raise
        ensure
          Thread.current[CALL] = outer
          if call
            begin
              connection = @socket && @socket.instance_variable_get(Connection::IVAR)
              connection.call = nil if connection
              Thread.handle_interrupt(Hooks::NEVER) { onewrite_failed(call, inside, e, events) } unless call.frozen?
              connection.idle_since = call.ended if connection
            ensure
              Hooks.report(hooks, call, events, outer)
            end
          end
        end
      end

      # @return [Hooks::Set, nil] the hooks of a call that begins now
      def onewrite_hooks(outer)
        return nil unless Config.current.hooks

        set = defined?(@onewrite_options) ? Hooks.with(@onewrite_options[:timing], @onewrite_options[:listener]) : Hooks.current
        outer && set ? set.without(outer.barred) : set
      rescue Ractor::IsolationError # hooks belong to the main Ractor
        nil
      end

      # A request without a hook in the block of one that has a hook. The record of the outer one must not change.
      def onewrite_not_timed(outer)
        return yield unless outer && outer.owner.equal?(self)

        begin
          Thread.current[CALL] = Hooks::Reporter.new(outer.barred)
          connection = @socket && @socket.instance_variable_get(Connection::IVAR)
          connection.call = nil if connection # a disabled adapter begins no request, which would replace it
          yield
        ensure
          Thread.current[CALL] = outer
        end
      end

      # Reports a `start` that failed or was cancelled.
      def onewrite_not_started(call, hooks, error, outer)
        unless hooks.listeners.empty?
          call.listeners = hooks.listeners
          events = []
        end
        Thread.handle_interrupt(Hooks::NEVER) do
          call.connected(nil)
          call.finish(error.is_a?(StandardError) ? :error : :cancelled, error, events)
        end
      ensure
        Hooks.report(hooks, call, events, outer)
      end

      # @param inside [Boolean, nil] whether the caller's block was running: leaving it is no error
      def onewrite_failed(call, inside, error, events)
        outcome =
          if error
            error.is_a?(StandardError) ? :error : :cancelled
          else
            inside && Thread.current.status != "aborting" ? :ok : :cancelled
          end
        call.finish(outcome, error, events)
      end
    end
  end
end
