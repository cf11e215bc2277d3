# frozen_string_literal: true

require "onewrite/call"
require "onewrite/connection"
require "onewrite/hooks"
require "onewrite/nodelay"
require "onewrite/settings"

module Onewrite
  module Patch
    # Options of one session. Included even where ONEWRITE_DISABLED keeps the patches out, so that a program that sets
    # them runs on with the switch thrown.
    module SessionOptions
      # @return [#call, nil] gets the {Timing} of each call of this session, beside the blocks of {Onewrite.on_timing}
      attr_accessor :onewrite_timing
      # @return [TimingListener, #on_event, nil] gets each {Event} of this session
      attr_accessor :onewrite_listener
      # @return [Boolean, nil] TCP_NODELAY for the connections this session opens: true, false, or nil for on. An
      #   explicit word wins over the option nodelay_disabled.
      attr_accessor :onewrite_nodelay
    end

    # Prepended to Net::HTTP: connections and exchanges.
    #
    # Not here: `request` and `connect`. Tracers chain and prepend those; a method that is prepended first and alias-
    # chained later calls itself without end. What is here is private and, but for `transport_request` (which Semian
    # prepends, too: prepending mixes), patched by no gem we know.
    module Session
      private

      attr_reader :onewrite_call, :onewrite_connecting

      # `start` connects outside of any request. Why this method: it is the only one around `connect` that is called
      # for `start` alone. What it cannot reach: which request the connection is for; a `start` that fails gives a
      # record whose method is empty.
      def do_start
        hooks = onewrite_hooks
        return super unless hooks

        connecting = @onewrite_connecting = Call::Connecting.new(Clock.now)
        begin
          super
          connecting.end ||= Clock.now
          started = true
        rescue StandardError => e
          raise
        ensure
          onewrite_not_started(hooks, connecting, e) unless started
        end
      end

      # The TLS handshake, apart from the TCP handshake. In Net::Protocol since Ruby 2.3; before, the handshake is
      # counted as part of connect.
      def ssl_socket_connect(*args)
        connecting = onewrite_connecting
        return super unless connecting

        connecting.tls_start = Clock.now
        super.tap { connecting.tls_end = Clock.now }
      end

      # The last step of `connect` since 1.8, empty in the standard library. Why this method: whoever overrides it and
      # calls super comes after us, so their word on TCP_NODELAY is the last. What it cannot reach: a subclass that
      # overrides `connect` without it; those connections are met in begin_transport.
      def on_connect
        super
        onewrite_adopt if Settings.current.enabled
      end

      # Before each attempt; may reconnect. Why this method: it is the one place that decides which connection carries
      # the request. It is called again for each repetition.
      def begin_transport(req)
        return super unless Settings.current.enabled

        call = onewrite_call
        return onewrite_begin_timed(call) { super } if call

        onewrite_look
        super
        onewrite_adopt.begin_request(nil)
      end

      # One exchange with its repetitions. Why this method: an error skips end_transport, and so does leaving the block
      # of `request`. Net::HTTP closes the socket after a StandardError only; after Timeout.timeout, Thread#kill or a
      # `break` the rest of the answer would be left for the next caller.
      def transport_request(req)
        return super unless Settings.current.enabled

        call = onewrite_start_call(req)
        onewrite_check(req, call)
        return onewrite_transport { super } unless call || block_given?

        response = nil
        outcome = :cancelled
        begin
          result = super(req) do |res|
            response = res
            call.final(res.code) if call
            outcome = :ok # leaving the block of `request` is the caller's right
            yield res if block_given?
            outcome = :cancelled
          end
          outcome = :ok
          finished = true
          result
        rescue Exception => e # rubocop:disable Lint/RescueException -- raised again
          outcome = e.is_a?(StandardError) ? :error : :cancelled
          raise
        ensure
          onewrite_abandon(response) unless finished
          onewrite_finish_call(call, Thread.current.status == "aborting" ? :cancelled : outcome, e) if call
        end
      end

      # After an exchange that went well. Why this method: here Net::HTTP decides whether to keep the connection.
      def end_transport(req, res)
        call = onewrite_call
        call.response_end(nil) if call
        super
        connection = Connection.of(@socket)
        return unless connection

        # An answer that came before the body was sent to its end, as a 417: the server would read the next head as body.
        @socket.close if connection.unsent && !@socket.closed?
        call.released(!@socket.closed?) if call
      end

      def onewrite_hooks
        settings = Settings.current
        Hooks.for_session(onewrite_timing, onewrite_listener) if settings.enabled && settings.hooks
      end

      # In pieces: nobody may ever ask for it.
      def onewrite_url(path)
        [use_ssl? ? "https://" : "http://", address, ":", port, path]
      end

      # Notes the connection and sets TCP_NODELAY, once.
      # @return [Connection]
      def onewrite_adopt
        connection = Connection.of(@socket)
        return connection if connection

        settings = Settings.current
        choice = onewrite_nodelay
        Nodelay.set(@socket.io.to_io, choice != false) if !choice.nil? || settings.nodelay
        onewrite_connecting.end = Clock.now if onewrite_connecting
        Connection.new(@socket)
      end

      # An exchange that nobody listens to and whose response goes to nobody before it is read.
      def onewrite_transport
        result = yield
        finished = true
        result
      ensure
        onewrite_abandon(nil) unless finished
      end

      # Closes a connection that must not carry another request. Net::HTTP would then poll the socket for what was just
      # read from it; where it keeps the time as a number, it is spared that: nil means "nothing to look at".
      def onewrite_look
        socket = @socket
        connection = socket && Connection.of(socket)
        return if connection.nil? || socket.closed?

        if connection.spoiled?(socket)
          D "Conn close because of bytes nobody asked for" if @debug_output
          socket.close
        elsif @last_communicated.is_a?(Float) && connection.requests > 0
          limit = @last_communicated + @keep_alive_timeout
          @last_communicated = nil if limit >= Process.clock_gettime(Process::CLOCK_MONOTONIC)
        end
      end

      def onewrite_begin_timed(call)
        before = onewrite_connecting
        now = call.attempt_start(before ? before.start : Clock.now)
        connecting = @onewrite_connecting = before || Call::Connecting.new(now)
        onewrite_look
        yield
        connection = onewrite_adopt
        connection.begin_request(call)
        call.connect(connecting) if connecting.end
        call.acquired(connection, Clock.now)
      rescue StandardError => e
        raise
      ensure
        # Also after Timeout.timeout, which unwinds without an exception.
        call.connect(connecting, Clock.now, e) if connecting && !connection
        @onewrite_connecting = nil
      end

      # `start` failed or was cancelled: a call of its own tells of it.
      def onewrite_not_started(hooks, connecting, error)
        @onewrite_connecting = nil
        call = Call.new(hooks, "", onewrite_url("/"), connecting.start)
        call.attempt_start(connecting.start)
        call.connect(connecting, Clock.now, error)
        call.finish(error ? :error : :cancelled, error)
      end

      def onewrite_start_call(req)
        return nil unless Hooks.current || onewrite_timing || onewrite_listener

        hooks = onewrite_hooks
        return nil unless hooks

        now = Clock.now
        connecting = onewrite_connecting
        @onewrite_connecting = connecting = nil if connecting && now - connecting.end > Call::SAME_BREATH_NS
        @onewrite_call = Call.new(hooks, req.method, onewrite_url(req.path), connecting ? connecting.start : now)
      end

      # Before the connection is touched: a request that is refused costs neither a byte nor the connection.
      def onewrite_check(req, call)
        req.onewrite_check
      rescue InvalidRequest => e
        onewrite_finish_call(call, :error, e) if call
        raise
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

      def onewrite_finish_call(call, outcome, error)
        @onewrite_call = nil
        ended = call.finish(outcome, error)
        connection = @socket && Connection.of(@socket)
        connection.rest(ended) if connection
      end
    end
  end
end
