# frozen_string_literal: true

require "onewrite/call"
require "onewrite/connection"
require "onewrite/hooks"
require "onewrite/nodelay"
require "onewrite/origin"
require "onewrite/settings"

module Onewrite
  module Patch
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

        Patch.observe if hook
        @onewrite_timing = hook
      end

      # @raise [ArgumentError] for what is no listener
      def onewrite_listener=(hook)
        raise ArgumentError, "onewrite_listener answers on_event, or is nil" unless hook.nil? || hook.respond_to?(:on_event)

        Patch.observe if hook
        @onewrite_listener = hook
      end
    end

    # Prepended to Net::HTTP: connections and exchanges.
    #
    # Not here: `request` and `connect`. Tracers chain and prepend those; a method that is prepended first and alias-
    # chained later calls itself without end. What is here is private and, but for `transport_request` (which Semian
    # prepends, too: prepending mixes), patched by no gem we know.
    module Session
      private

      attr_reader :onewrite_call, :onewrite_connecting, :onewrite_connection, :onewrite_request

      # `start` connects outside of any request. Why this method: it is the only one around `connect` that is called
      # for `start` alone. What it cannot reach: which request the connection is for; a `start` that fails gives a
      # record whose method is empty.
      def do_start
        @onewrite_origin = nil # use_ssl may have changed
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
        connecting = onewrite_connecting || onewrite_connecting_now
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
        call = onewrite_call
        return onewrite_begin_timed(call, req) { super } if call
        return super unless Settings.current.enabled

        @onewrite_connecting = nil if onewrite_connecting
        onewrite_look(req)
        super
        onewrite_adopt.begin_request
      end

      # One exchange with its repetitions. Why this method: what must not be sent is refused here before the connection
      # is touched. And an error skips end_transport, and so does leaving the block of `request`: Net::HTTP closes the
      # socket after a StandardError only; after Timeout.timeout, Thread#kill or a `break` the rest of the answer would be
      # left for the next caller.
      def transport_request(req, &block)
        return super unless Settings.current.enabled

        @onewrite_call = nil if (outer = onewrite_call) # a request within the block of another
        @onewrite_request = req
        hooks = onewrite_hooks if Hooks.current || onewrite_timing || onewrite_listener
        return onewrite_timed(hooks, req, block) { |give| super(req, &give) } if hooks

        req.onewrite_check
        begin
          response = nil
          result = block ? super(req) { |res| yield response = res } : super
          finished = true
        ensure
          onewrite_abandon(response) unless finished
        end
        onewrite_close_unsent
        result
      ensure
        @onewrite_request = nil
        @onewrite_call = outer if outer
      end

      def onewrite_hooks
        settings = Settings.current
        Hooks.for_session(onewrite_timing, onewrite_listener) if settings.enabled && settings.hooks
      end

      # Where the session speaks to.
      def onewrite_origin
        @onewrite_origin ||= Origin.url(use_ssl?, address, port)
      end

      # Notes the connection and sets TCP_NODELAY, once.
      # @return [Connection]
      def onewrite_adopt
        connection = onewrite_connection
        return connection if connection && connection.socket.equal?(@socket)

        @onewrite_connection = Connection.of(@socket) || onewrite_adopt_new
      end

      def onewrite_adopt_new
        settings = Settings.current
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

      # An exchange that somebody listens to.
      # @yieldparam give [Proc, nil] block for the library's own method
      def onewrite_timed(hooks, req, block)
        call = onewrite_start_call(hooks, req)
        outcome = :cancelled
        response = nil
        if block || call.listeners?
          give = lambda do |res|
            call.headers_end((response = res).code)
            outcome = :ok # leaving the block of `request` is the caller's right
            block.call(res) if block
            outcome = :cancelled
          end
        end
        begin
          result = yield give
          onewrite_close_unsent
          call.exchanged(result.code, !@socket.closed?)
          outcome = finished = :ok
          result
        rescue Exception => e # rubocop:disable Lint/RescueException -- raised again
          outcome = e.is_a?(StandardError) ? :error : :cancelled
          raise
        ensure
          onewrite_abandon(response) unless finished
          outcome = :cancelled if !finished && Thread.current.status == "aborting"
          onewrite_finish_call(call, outcome, e)
        end
      end

      def onewrite_start_call(hooks, req)
        now = started = Clock.now
        connecting = onewrite_connecting
        if connecting
          if now - connecting.end > Call::SAME_BREATH_NS
            @onewrite_connecting = nil
          else
            started = connecting.start
          end
        end
        call = @onewrite_call = Call.new(hooks, req.method, onewrite_origin, req.path, started, now)
        begin
          req.onewrite_check
        rescue InvalidRequest => e
          onewrite_finish_call(call, :error, e) # neither a byte nor the connection was touched
          raise
        end
        call
      end

      def onewrite_begin_timed(call, req)
        before = onewrite_connecting
        call.attempt_start(before && before.start)
        onewrite_look(req)
        yield
        connection = onewrite_adopt
        connection.begin_request
        connection.timed(call)
        connecting = onewrite_connecting
        call.connect(connecting) if connecting && connecting.end
        call.acquired(connection)
      rescue StandardError => e
        raise
      ensure
        # Also after Timeout.timeout, which unwinds without an exception.
        call.connect(onewrite_connecting || onewrite_connecting_now, Clock.now, e) unless connection
        @onewrite_connecting = nil
      end

      # `start` failed or was cancelled: a call of its own tells of it.
      def onewrite_not_started(hooks, connecting, error)
        @onewrite_connecting = nil
        call = Call.new(hooks, "", onewrite_origin, "/", connecting.start, Clock.now)
        call.attempt_start(connecting.start)
        call.connect(connecting, Clock.now, error)
        call.finish(error ? :error : :cancelled, error)
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

      def onewrite_finish_call(call, outcome, error)
        @onewrite_call = nil
        ended = call.finish(outcome, error)
        connection = onewrite_connection
        connection.rest(ended) if connection && connection.socket.equal?(@socket)
      end
    end
  end
end
