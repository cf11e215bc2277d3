# frozen_string_literal: true

require "onewrite/config"
require "onewrite/net_http/stock"
require "onewrite/timing/call"
require "onewrite/timing/clock"
require "onewrite/timing/hooks"
require "onewrite/timing/origin"
require "onewrite/timing/told_call"

module Onewrite
  module NetHTTP
    # Prepended to Net::HTTP when timing or QUICKACK is first asked for, before {Session}: where a call begins and ends.
    module TimedSession
      SESSION = Stock.session
      STOCK = Stock.new(SESSION, :do_start, :do_finish, :ssl_socket_connect, :transport_request)
      private_constant :SESSION, :STOCK

      private

      # `start` connects outside of any request.
      # Why this method: it wraps `connect` and is called for `start` alone.
      # Not known here: the request that will use the connection. The record of a `start` that fails has an empty method.
      def do_start
        if __callee__ != :do_start && (stock = STOCK.behind(:do_start, __callee__))
          return stock.bind(self).call
        end

        @onewrite_origin = nil # use_ssl may have changed
        set = Hooks.current
        own = onewrite_timing
        settings = Config.current
        return super unless (set || own || onewrite_listener) && settings.enabled && settings.hooks

        connecting = @onewrite_connecting = Call::Connecting.new(Clock.now)
        begin
          super
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
        if __callee__ != :do_finish && (stock = STOCK.behind(:do_finish, __callee__))
          return stock.bind(self).call
        end

        super
      ensure
        connection = onewrite_connection
        connection.settle if connection
      end

      # The TLS handshake. In Net::Protocol since Ruby 2.3; before that the handshake is part of `connect`.
      def ssl_socket_connect(*args)
        if __callee__ != :ssl_socket_connect && (stock = STOCK.behind(:ssl_socket_connect, __callee__))
          return stock.bind(self).call(*args)
        end

        connecting = onewrite_connecting || onewrite_connecting_now
        return super unless connecting

        connecting.tls_start = Clock.now
        super.tap { connecting.tls_end = Clock.now }
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
        # Re-entry through an alias chain happens only during a request, or while the adapter is disabled.
        if (onewrite_request || !settings.enabled) && __callee__ != :transport_request &&
           (stock = STOCK.behind(:transport_request, __callee__))
          return stock.bind(self).call(req, &block)
        end

        outer = onewrite_call # when this request is made in the block of another one
        unless settings.enabled && settings.hooks && (set || own || onewrite_listener)
          return super unless outer

          return onewrite_apart(outer) { super }
        end

        told = onewrite_listener || (set && !set.listeners.empty?)
        started = onewrite_began if onewrite_connecting
        result = inside = call = nil
        begin
          if told
            Thread.handle_interrupt(Hooks::NEVER) { @onewrite_call = call = onewrite_told(set, req.method, req.path, started) }
          else
            @onewrite_call = call = Call.new(req.method, onewrite_origin, req.path, started)
          end
          result =
            if block
              super(req) do |res|
                call.headers_end(res)
                inside = true
                yield res
                inside = false
              end
            else
              super # without a block of ours: the library does not repeat a request whose block was called
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

      # @return [ToldCall]
      def onewrite_told(set, method, path, started)
        listeners = (set || Hooks::NONE).listeners
        own = onewrite_listener
        listeners += [own] if own # no splat: a Struct would be expanded
        ToldCall.new(listeners, method, onewrite_origin, path, started)
      end

      # `start` failed or was cancelled: it gets a record of its own.
      def onewrite_not_started(set, own, connecting, error)
        @onewrite_connecting = nil
        call = onewrite_told(set, "", "/", connecting.start)
        call.attempt_start
        call.connect(connecting, Clock.now, error)
        call.finish(error ? :error : :cancelled, error)
        Hooks.report(set, own, call.freeze)
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
        Hooks.report(set, own, call.freeze)
      end
    end
  end
end
