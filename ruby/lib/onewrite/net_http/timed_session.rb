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
      # Timeout.timeout, Thread#raise and Thread#kill wait while a call's beginning or end is told: it is told whole, and
      # what they raise reaches the caller and no hook.
      NEVER = { Object => :never }.freeze
      SESSION = Stock.session
      STOCK = Stock.new(SESSION, :do_start, :ssl_socket_connect, :transport_request)
      private_constant :NEVER, :SESSION, :STOCK

      private

      # `start` connects outside of any request. Why this method: it is the only one around `connect` that is called
      # for `start` alone. What it cannot reach: which request the connection is for; a `start` that fails gives a
      # record whose method is empty.
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
          Thread.handle_interrupt(NEVER) { onewrite_not_started(set, own, connecting, e) } unless started
        end
      end

      # The TLS handshake, apart from the TCP handshake. In Net::Protocol since Ruby 2.3; before, the handshake is
      # counted as part of connect.
      def ssl_socket_connect(*args)
        if __callee__ != :ssl_socket_connect && (stock = STOCK.behind(:ssl_socket_connect, __callee__))
          return stock.bind(self).call(*args)
        end

        connecting = onewrite_connecting || onewrite_connecting_now
        return super unless connecting

        connecting.tls_start = Clock.now
        super.tap { connecting.tls_end = Clock.now }
      end

      # One exchange with its repetitions. Why this method: it is the only one around all attempts, and whatever ends the
      # exchange, an error, a `break`, Timeout.timeout or Thread#kill, comes by. What it cannot reach: what tracers and the
      # program do around `request`; that is not the exchange's time.
      #
      # In one piece, for the sake of what each method more costs.
      def transport_request(req, &block) # rubocop:disable Metrics
        set = Hooks.current
        own = onewrite_timing
        settings = Config.current
        # Only where a request is under way, or none is ours, can a chain be coming back.
        if (onewrite_request || !settings.enabled) && __callee__ != :transport_request &&
           (stock = STOCK.behind(:transport_request, __callee__))
          return stock.bind(self).call(req, &block)
        end

        outer = onewrite_call # of a request in whose block this one is made
        unless settings.enabled && settings.hooks && (set || own || onewrite_listener)
          return super unless outer

          return onewrite_apart(outer) { super }
        end

        told = onewrite_listener || (set && !set.listeners.empty?)
        started = onewrite_began if onewrite_connecting
        result = inside = call = nil
        begin
          if told
            Thread.handle_interrupt(NEVER) { @onewrite_call = call = onewrite_told(set, req.method, req.path, started) }
          else
            @onewrite_call = call = Call.new(req.method, onewrite_origin, req.path, started)
          end
          result =
            if told || block
              super(req) do |res|
                call.headers_end(res.code)
                inside = true
                yield res if block
                inside = false
              end
            else
              super
            end
          inside = true # from here on nothing was given up
          result
        rescue Exception => e # rubocop:disable Lint/RescueException -- raised again
          raise
        ensure
          Thread.handle_interrupt(NEVER) do
            @onewrite_call = outer
            onewrite_end_call(call, result, inside, e, set, own) if call
          end
        end
      end

      # A request that nobody listens to, within the block of one that somebody does: that one's record is not touched.
      def onewrite_apart(outer)
        @onewrite_call = nil
        connection = onewrite_connection
        connection.call = nil if connection # also where the adapter is off by now, and does not begin a request there
        yield
      ensure
        @onewrite_call = outer
      end

      # Where the session speaks to.
      def onewrite_origin
        @onewrite_origin ||= Origin.url(use_ssl?, address, port)
      end

      # @return [Integer, nil] when `start` began to connect, where the first request follows in the same breath
      def onewrite_began
        connecting = onewrite_connecting
        ended = connecting.end || Clock.now # none yet where `connect` itself sends a request
        return connecting.start if Clock.now - ended <= Call::SAME_BREATH_NS

        @onewrite_connecting = nil
      end

      # @return [ToldCall]
      def onewrite_told(set, method, path, started)
        listeners = (set || Hooks::NONE).listeners
        own = onewrite_listener
        listeners += [own] if own # it may be a Struct: a splat would take it apart
        ToldCall.new(listeners, method, onewrite_origin, path, started)
      end

      # `start` failed or was cancelled: a call of its own tells of it.
      def onewrite_not_started(set, own, connecting, error)
        @onewrite_connecting = nil
        call = onewrite_told(set, "", "/", connecting.start)
        call.attempt_start
        call.connect(connecting, Clock.now, error)
        call.finish(error ? :error : :cancelled, error)
        Hooks.report(set, own, call.freeze)
      end

      # @param result [Net::HTTPResponse, nil] of an exchange that came to its end; whatever it likes where another gem's
      #   module answers in the library's place
      # @param inside [Boolean, nil] whether the caller's block was under way: to leave it is the caller's right
      def onewrite_end_call(call, result, inside, error, set, own)
        ended =
          if error
            call.finish(error.is_a?(StandardError) ? :error : :cancelled, error)
          elsif result.respond_to?(:code)
            call.complete(result.code, @socket)
          else
            call.finish(inside && Thread.current.status != "aborting" ? :ok : :cancelled)
          end
        connection = onewrite_connection
        if connection && connection.socket.equal?(@socket)
          connection.idle_since = ended
          connection.call = nil
        end
        Hooks.report(set, own, call.freeze)
      end
    end
  end
end
