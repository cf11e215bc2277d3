# frozen_string_literal: true

require "onewrite/config"
require "onewrite/net_http/connection"
require "onewrite/net_http/session"
require "onewrite/timing/hooks"
require "onewrite/timing/record"

module Onewrite
  module NetHTTP
    # For Net::HTTP: where a call that has hooks begins and ends.
    module TimedSession
      private

      # `start` connects outside of any request.
      # Why this method: it wraps `connect` and is called for `start` alone.
      # Not known here: the request that will use the connection. The record of a `start` that fails has an empty method.
      def do_start
        outer = Thread.current[CALL]
        hooks = onewrite_hooks(outer)
        return onewrite_stock_do_start unless hooks

        begin
          call = Timing.new([use_ssl?, address, port], Clock.anchor)
          Thread.current[CALL] = frame = Hooks::Frame.new(self, call, outer)
          onewrite_stock_do_start
          connection = Connection.of(@socket) || onewrite_adopt
          connection.opening = call if connection
          started = true
        rescue Exception => e # rubocop:disable Lint/RescueException -- raised again
          raise
        ensure
          if started || frame.nil?
            Thread.current[CALL] = outer
          else
            events = call.listen(hooks.listeners, frame)
            onewrite_failed(frame, outer, hooks, events, e, false) { call.not_started }
          end
        end
      end

      # The TLS handshake. In Net::Protocol since Ruby 2.3; before that the handshake is part of `connect`.
      def ssl_socket_connect(*args)
        frame = Thread.current[CALL]
        return onewrite_stock_ssl_socket_connect(*args) unless frame && frame.owner.equal?(self)

        call = frame.call
        call.tls_start = Clock.now
        onewrite_stock_ssl_socket_connect(*args).tap { call.tls_end = Clock.now }
      end
      ruby2_keywords(:ssl_socket_connect) if respond_to?(:ruby2_keywords, true)

      # One request with its repetitions.
      # Why this method: it wraps all attempts, and whatever ends the request early passes here (an error, `break`,
      # Timeout.timeout, Thread#kill).
      def transport_request(req, &block)
        outer = Thread.current[CALL] # when this request is made in a hook or in the block of another one
        hooks = onewrite_hooks(outer)
        if hooks
          onewrite_timed_request(req, hooks, outer, &block)
        elsif outer && outer.owner.equal?(self)
          onewrite_untimed_request(req, outer, &block)
        else
          onewrite_request(req, &block)
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

      # One request that has hooks.
      # Not measured: what tracers and the program do around `request`.
      #
      # One long method, because each method call costs. Interrupts are deferred only while a call that failed is sealed, so that
      # each call has one record and one end.
      def onewrite_timed_request(req, hooks, outer, &block) # rubocop:disable Metrics
        inside = frame = events = nil
        begin
          connection = @socket.instance_variable_get(Connection::IVAR) if Net::BufferedIO === @socket
          call = connection && connection.opening
          if call && call.just_opened?
            connection.opening = nil
          else
            call = Timing.new(*(connection ? connection.common : [[use_ssl?, address, port], Clock.anchor]))
          end
          Thread.current[CALL] = frame = Hooks::Frame.new(self, call, outer)
          unless hooks.listeners.empty?
            call.name_of(req)
            events = call.listen(hooks.listeners, frame)
          end
          result =
            if block
              onewrite_request(req) do |res|
                call.emit_headers if events
                inside = true
                yield res
                inside = false
              end
            else
              onewrite_request(req)
            end
          inside = true # the request is complete
          call.complete(req, (result if Net::HTTPResponse === result), @socket && !@socket.closed?, block, events)
          result
        rescue Exception => e # rubocop:disable Lint/RescueException -- raised again
          raise
        ensure
          if call && call.frozen?
            Hooks.report(frame, outer, hooks, call, events)
          elsif frame
            onewrite_failed(frame, outer, hooks, events, e, inside) { call.name_of(req) }
          end
        end
      end

      # A request without a hook in the block of one that has a hook. The record of the outer one must not change.
      def onewrite_untimed_request(req, outer, &block)
        Thread.current[CALL] = Hooks::Frame.new(nil, nil, outer)
        connection = Connection.of(@socket)
        connection.call = nil if connection # a disabled adapter begins no request, which would replace it
        onewrite_request(req, &block)
      ensure
        Thread.current[CALL] = outer
      end

      # Seals and reports a call that failed or was given up.
      # @param inside [Boolean, nil] whether the caller's block was running
      # @yield before the record is sealed
      def onewrite_failed(frame, outer, hooks, events, error, inside)
        call = frame.call
        Thread.handle_interrupt(Hooks::NEVER) do
          yield
          call.finish(error, inside && Thread.current.status != "aborting", events)
        end
      ensure
        Hooks.report(frame, outer, hooks, call, events)
      end
    end
  end
end
