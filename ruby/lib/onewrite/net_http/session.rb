# frozen_string_literal: true

require "onewrite/config"
require "onewrite/net_http/connection"
require "onewrite/net_http/stock"
require "onewrite/timing/call"
require "onewrite/timing/clock"
require "onewrite/timing/hooks"
require "onewrite/wire/nodelay"

module Onewrite
  module NetHTTP
    # Options of one session. Included even where ONEWRITE_DISABLED keeps the patches out, so that a program that sets
    # them runs on with the switch thrown.
    module SessionOptions
      # @return [#call, nil] gets the {Timing} of each call of this session, beside the blocks of {Onewrite.on_timing}
      attr_reader :onewrite_timing
      # @return [TimingListener, #on_event, nil] gets each {Event} of this session
      attr_reader :onewrite_listener
      # @return [Boolean, nil] TCP_NODELAY for the connections this session opens: true, false, or nil for on. An
      #   explicit word wins over the option nodelay_disabled.
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

    # Prepended to Net::HTTP: connections and exchanges.
    #
    # Not here: `request` and `connect`. Tracers chain and prepend those; see {Stock} for what comes of both. What is here
    # is private and, but for `transport_request` (which Semian prepends, too: prepending mixes), patched by no gem we know.
    module Session
      SESSION = Stock.session
      STOCK = Stock.new(SESSION, :on_connect, :begin_transport, :transport_request)
      private_constant :SESSION, :STOCK

      private

      attr_reader :onewrite_call, :onewrite_connecting, :onewrite_connection, :onewrite_request, :onewrite_beginning

      # The last step of `connect` since 1.8, empty in the standard library. Why this method: whoever overrides it and
      # calls super comes after us, so their word on TCP_NODELAY is the last. What it cannot reach: a subclass that
      # overrides `connect` without it; those connections are met in begin_transport.
      def on_connect
        if __callee__ != :on_connect && (stock = STOCK.behind(:on_connect, __callee__))
          return stock.bind(self).call
        end

        super
        onewrite_adopt if Config.current.enabled
      end

      # Before each attempt; may reconnect. Why this method: it is the one place that decides which connection carries
      # the request. It is called again for each repetition.
      def begin_transport(req)
        call = onewrite_call
        enabled = call || Config.current.enabled # a call that has begun is told of to its end
        if (onewrite_beginning || !enabled) && __callee__ != :begin_transport &&
           (stock = STOCK.behind(:begin_transport, __callee__))
          return stock.bind(self).call(req)
        end
        return super unless enabled

        call ? call.attempt_start : @onewrite_connecting = nil
        onewrite_look(req)
        @onewrite_beginning = true
        begin
          super
          connection = onewrite_adopt
        rescue StandardError => e
          raise
        ensure
          @onewrite_beginning = false
          # Also after Timeout.timeout, which unwinds without an exception.
          onewrite_not_connected(call, e) unless connection || call.nil?
        end
        onewrite_connected(call) if call && onewrite_connecting
        connection.begin_request(call)
      end

      # One exchange with its repetitions. Why this method: what must not be sent is refused here before the connection
      # is touched. And an error skips end_transport, and so does leaving the block of `request`: Net::HTTP closes the
      # socket after a StandardError only; after Timeout.timeout, Thread#kill or a `break` the rest of the answer would be
      # left for the next caller.
      def transport_request(req, &block)
        enabled = Config.current.enabled
        # Only where a request is under way, or none is ours, can a chain be coming back.
        if (onewrite_request || !enabled) && __callee__ != :transport_request &&
           (stock = STOCK.behind(:transport_request, __callee__))
          return stock.bind(self).call(req, &block)
        end
        return super unless enabled

        req.onewrite_check
        @onewrite_request = req
        begin
          response = nil
          result = block ? super(req) { |res| yield response = res } : super
          finished = true
        ensure
          @onewrite_request = nil
          onewrite_abandon(response) unless finished
        end
        onewrite_close_unsent
        result
      end

      # Notes the connection and sets TCP_NODELAY, once.
      # @return [Connection]
      def onewrite_adopt
        connection = onewrite_connection
        return connection if connection && connection.socket.equal?(@socket)

        @onewrite_connection = Connection.of(@socket) || onewrite_adopt_new
      end

      def onewrite_adopt_new
        settings = Config.current
        choice = onewrite_nodelay
        connection = Connection.new(@socket)
        Nodelay.set(connection.io, choice != false) if !choice.nil? || settings.nodelay
        connecting = onewrite_connecting || onewrite_connecting_now
        connecting.end = Clock.now if connecting
        connection
      end

      # A timed call is about to connect, or has just done so.
      # @return [Call::Connecting, nil]
      def onewrite_connecting_now
        call = onewrite_call
        @onewrite_connecting = Call::Connecting.new(call.attempt_started) if call
      end

      # Closes a connection that must not carry another request. Net::HTTP would then poll the socket for what was just
      # read from it; where it keeps the time as a number, it is spared that: nil means "nothing to look at".
      def onewrite_look(req)
        connection = onewrite_connection
        socket = @socket
        return if connection.nil? || !connection.socket.equal?(socket) || socket.closed?
        return unless onewrite_request.equal?(req) # a gem that pipelines begins while answers are coming in

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

      # An answer that came before the body was sent to its end, as a 417: the server would read the next head as body.
      def onewrite_close_unsent
        connection = onewrite_connection
        @socket.close if connection && connection.unsent && !@socket.closed?
      end

      def onewrite_abandon(response)
        socket = @socket
        return if socket.nil? || socket.closed?
        return if response && onewrite_read?(response)

        D "Conn close because the response was given up" if @debug_output
        socket.close
      end

      # Whether nothing of the response is left on the connection.
      def onewrite_read?(response)
        response.instance_variable_get(:@read) || !response.instance_variable_get(:@body_exist)
      end
    end
  end
end
