# frozen_string_literal: true

require "onewrite/config"
require "onewrite/errors"
require "onewrite/net_http/connection"
require "onewrite/timing/call"
require "onewrite/timing/clock"
require "onewrite/timing/hooks"
require "onewrite/wire/nodelay"
require "onewrite/wire/validate"

module Onewrite
  module NetHTTP
    # Options of one session. Included also when ONEWRITE_DISABLED is set, so that a program that sets them still runs.
    module SessionOptions
      # @return [#call, nil] gets the {Timing} of each call of this session, beside the blocks of {Onewrite.on_timing}
      attr_reader :onewrite_timing
      # @return [TimingListener, #on_event, nil] gets each {Event} of this session
      attr_reader :onewrite_listener
      # @return [Boolean, nil] TCP_NODELAY for the connections this session opens: true, false, or nil for on. true and
      #   false win over the option nodelay_disabled.
      attr_accessor :onewrite_nodelay

      # @raise [ArgumentError] for what cannot be called
      def onewrite_timing=(hook)
        raise ArgumentError, "onewrite_timing answers call, or is nil" unless hook.nil? || hook.respond_to?(:call)

        Hooks.wanted if hook
        @onewrite_timing = hook
      end

      # @raise [ArgumentError] for what is no listener
      def onewrite_listener=(hook)
        raise ArgumentError, "onewrite_listener answers on_event, or is nil" unless hook.nil? || hook.respond_to?(:on_event)

        Hooks.wanted if hook
        @onewrite_listener = hook
      end
    end

    # For Net::HTTP: connections and exchanges.
    #
    # `request` and `connect` are not patched: tracers patch them, some by alias chains and some by prepending. The methods here
    # are private, and no known gem patches them, except Semian, which prepends `transport_request`.
    module Session
      private

      attr_reader :onewrite_call, :onewrite_connecting, :onewrite_connection, :onewrite_request

      # The last step of `connect` since Ruby 1.8, empty in the standard library.
      # Why this method: a subclass that overrides it and calls super runs after this one, so its own TCP_NODELAY wins.
      # Not reached: a subclass whose `connect` does not call it; begin_transport finds those connections.
      def on_connect
        onewrite_stock_on_connect
        onewrite_adopt if Config.current.enabled
      end

      # Runs before each attempt, and may reconnect.
      # Why this method: only here is decided which connection carries the request. It runs again for each repetition.
      def begin_transport(req)
        call = onewrite_call
        # A call that has begun is recorded to its end.
        return onewrite_stock_begin_transport(req) unless call || Config.current.enabled

        call ? call.attempt_start : @onewrite_connecting = nil
        onewrite_close_unusable(req)
        begin
          onewrite_stock_begin_transport(req)
          connection = onewrite_connection
          connection = onewrite_adopt unless connection && connection.socket.equal?(@socket)
        rescue StandardError => e
          raise
        ensure
          # Timeout.timeout may unwind without an exception.
          onewrite_not_connected(call, e) unless connection || call.nil?
        end
        onewrite_connected(call) if call && onewrite_connecting
        connection.begin_request(call)
      end

      # One request with its repetitions.
      # Why this method: an invalid request is refused here before the connection is used. And whatever ends a request early
      # passes here. Net::HTTP closes the socket only after a StandardError; after Timeout.timeout, Thread#kill or a `break`
      # the rest of the answer would be read by the next caller.
      def transport_request(req, &block)
        return onewrite_stock_transport_request(req, &block) unless Config.current.enabled

        Wire::Validate.check(req.method, req.path, req.instance_variable_get(:@header)) # to_hash would copy it
        req.onewrite_check_body unless req.body
        @onewrite_request = req
        begin
          response = nil
          result =
            if block
              onewrite_stock_transport_request(req) { |res| yield response = res }
            else
              onewrite_stock_transport_request(req)
            end
          finished = true
        rescue BodyLengthError
          # A repetition found the stream spent. The caller gets the error that ended the first attempt.
          raise unless (lost = req.onewrite_lost)
        ensure
          @onewrite_request = nil
          onewrite_abandon(response) unless finished
        end
        raise lost if lost

        # The answer came before the body was sent, as 417: the server would read the next head as body.
        connection = onewrite_connection
        @socket.close if connection && connection.unsent && !@socket.closed?
        result
      end

      # Finds or makes the {Connection} of the socket. A new one gets TCP_NODELAY.
      # @return [Connection]
      def onewrite_adopt
        @onewrite_connection = Connection.of(@socket) || onewrite_adopt_new
      end

      def onewrite_adopt_new
        settings = Config.current
        choice = onewrite_nodelay
        connection = Connection.new(@socket)
        onewrite_count(connection)
        Wire::Nodelay.set(connection.io, choice != false) if !choice.nil? || settings.nodelay
        connecting = onewrite_connecting || onewrite_connecting_now
        connecting.end = Clock.now if connecting
        connection
      end

      # Reports the new connection, and what became of the one before it, to whoever counts connections.
      def onewrite_count(connection)
        before = onewrite_connection
        before.settle if before
        connection.watched(onewrite_origin) if Hooks.connections
      end

      # The times of connecting, for a call that connects by itself.
      # @return [Call::Connecting, nil]
      def onewrite_connecting_now
        call = onewrite_call
        @onewrite_connecting = Call::Connecting.new(call.attempt_started) if call
      end

      # Closes a connection that must not be reused. Any other was polled for EOF here; Net::HTTP does not poll it again if
      # the time of its last use is nil.
      def onewrite_close_unusable(req)
        connection = onewrite_connection
        socket = @socket
        return if connection.nil? || !connection.socket.equal?(socket) || socket.closed?
        return unless onewrite_request.equal?(req) # a gem that pipelines calls this while answers are coming in

        if connection.spoiled?
          D "Conn close because of bytes nobody asked for, or a body sent in part" if @debug_output
          socket.close
        elsif connection.requests > 0 && @last_communicated.is_a?(Float)
          limit = @last_communicated + @keep_alive_timeout
          @last_communicated = nil if limit >= Process.clock_gettime(Process::CLOCK_MONOTONIC)
        end
      end

      # A connection was made for the timed attempt.
      def onewrite_connected(call)
        connecting = onewrite_connecting
        call.connect(connecting) if connecting.end
        @onewrite_connecting = nil
      end

      # No connection could be made for the timed attempt.
      def onewrite_not_connected(call, error)
        call.connect(onewrite_connecting || onewrite_connecting_now, Clock.now, error)
        @onewrite_connecting = nil
      end

      def onewrite_abandon(response)
        socket = @socket
        return if socket.nil? || socket.closed?
        return if response && onewrite_read_whole?(response)

        D "Conn close because the response was given up" if @debug_output
        socket.close
      end

      # Whether nothing of the response is left on the connection.
      def onewrite_read_whole?(response)
        response.instance_variable_get(:@read) || !response.instance_variable_get(:@body_exist)
      end
    end
  end
end
