# frozen_string_literal: true

require "onewrite/config"
require "onewrite/timing/call"
require "onewrite/timing/clock"
require "onewrite/timing/hooks"
require "onewrite/timing/origin"

module Onewrite
  module NetHTTP
    # For Net::HTTP, in place when the first hook is set: where a call begins and ends.
    module TimedSession
      private

      # `start` connects outside of any request.
      # Why this method: it wraps `connect` and is called for `start` alone.
      # Not known here: the request that will use the connection. The record of a `start` that fails has an empty method.
      def do_start
        @onewrite_origin = nil # use_ssl may have changed
        set = Hooks.current
        own = onewrite_timing
        settings = Config.current
        return onewrite_untimed_do_start unless (set || own || onewrite_listener) && settings.enabled && settings.hooks

        connecting = @onewrite_connecting = Call::Connecting.new(Clock.now)
        begin
          onewrite_untimed_do_start
          connecting.end ||= Clock.now
          started = true
        rescue StandardError => e
          raise
        ensure
          Thread.handle_interrupt(Hooks::NEVER) { onewrite_not_started(set, own, connecting, e) } unless started
        end
      end

      # `finish`, and the end of the block of `start`.
      # Why this method: outside of a request, only here a connection is closed.
      # Not reached: a session that is dropped without `finish`; its connection ends as garbage.
      def do_finish
        onewrite_untimed_do_finish
      ensure
        connection = onewrite_connection
        connection.settle if connection
      end

      # The TLS handshake. In Net::Protocol since Ruby 2.3; before that the handshake is part of `connect`.
      def ssl_socket_connect(*args)
        connecting = onewrite_connecting || onewrite_connecting_now
        return onewrite_untimed_ssl_socket_connect(*args) unless connecting

        connecting.tls_start = Clock.now
        onewrite_untimed_ssl_socket_connect(*args).tap { connecting.tls_end = Clock.now }
      end

      # One request with its repetitions.
      # Why this method: it wraps all attempts, and whatever ends the request early passes here (an error, `break`,
      # Timeout.timeout, Thread#kill).
      # Not measured: what tracers and the program do around `request`.
      #
      # One long method, because each method call costs.
      def transport_request(req, &block) # rubocop:disable Metrics
        set = Hooks.current
        own = onewrite_timing
        settings = Config.current
        outer = onewrite_call # when this request is made in the block of another one
        unless settings.enabled && settings.hooks && (set || own || onewrite_listener)
          return onewrite_untimed_transport_request(req, &block) unless outer

          return onewrite_apart(outer) { onewrite_untimed_transport_request(req, &block) }
        end

        listeners = onewrite_listeners(set) if onewrite_listener || (set && !set.listeners.empty?)
        started = onewrite_began if onewrite_connecting
        result = inside = call = nil
        begin
          if listeners # a call that listeners were given the start of has an end
            Thread.handle_interrupt(Hooks::NEVER) do
              @onewrite_call = call = Call.new(listeners, req.method, onewrite_origin, req.path, started)
            end
          else
            @onewrite_call = call = Call.new(nil, req.method, onewrite_origin, req.path, started)
          end
          result =
            if block
              onewrite_untimed_transport_request(req) do |res|
                call.headers_end(res)
                inside = true
                yield res
                inside = false
              end
            else
              # Without a block of ours: the library does not repeat a request whose block was called.
              onewrite_untimed_transport_request(req)
            end
          inside = true # the request is complete
          result
        rescue Exception => e # rubocop:disable Lint/RescueException -- raised again
          raise
        ensure
          Thread.handle_interrupt(Hooks::NEVER) do # so that each call has one record and one end
            @onewrite_call = outer
            onewrite_end_call(call, result, inside, e, set, own) if call
          end
        end
      end

      # A request without a hook in the block of one that has a hook. The record of the outer one must not change.
      def onewrite_apart(outer)
        @onewrite_call = nil
        connection = onewrite_connection
        connection.call = nil if connection # a disabled adapter begins no request, which would replace it
        yield
      ensure
        @onewrite_call = outer
      end

      # Scheme, host and port of the session.
      def onewrite_origin
        @onewrite_origin ||= Origin.url(use_ssl?, address, port)
      end

      # @return [Integer, nil] when `start` began to connect, if the first request follows within {Call::SAME_BREATH_NS}
      def onewrite_began
        connecting = onewrite_connecting
        ended = connecting.end || Clock.now # not set yet if `connect` itself sends a request
        return connecting.start if Clock.now - ended <= Call::SAME_BREATH_NS

        @onewrite_connecting = nil
      end

      # @return [Array<#on_event>]
      def onewrite_listeners(set)
        listeners = set ? set.listeners : []
        own = onewrite_listener
        own ? listeners + [own] : listeners # no splat: a Struct would be expanded
      end

      # `start` failed or was cancelled: it gets a record of its own.
      def onewrite_not_started(set, own, connecting, error)
        @onewrite_connecting = nil
        call = Call.new(onewrite_listeners(set), "", onewrite_origin, "/", connecting.start)
        call.attempt_start
        call.connect(connecting, Clock.now, error)
        call.finish(error ? :error : :cancelled, error)
        Hooks.report(set, own, call)
      end

      # @param result [Net::HTTPResponse, Object, nil] of a request that was completed; any object if another gem's module
      #   answered instead of the library
      # @param inside [Boolean, nil] whether the caller's block was running: leaving it is no error
      def onewrite_end_call(call, result, inside, error, set, own)
        ended =
          if error
            call.finish(error.is_a?(StandardError) ? :error : :cancelled, error)
          elsif result.respond_to?(:code)
            call.complete(result, @socket)
          else
            call.finish(inside && Thread.current.status != "aborting" ? :ok : :cancelled)
          end
        connection = onewrite_connection
        if connection && connection.socket.equal?(@socket)
          connection.idle_since = ended
          connection.call = nil
        end
        connection.settle if connection
        Hooks.report(set, own, call)
      end
    end
  end
end
