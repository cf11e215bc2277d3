# frozen_string_literal: true

require "onewrite/config"
require "onewrite/errors"
require "onewrite/net_http/socket"
require "onewrite/timing/hooks"
require "onewrite/timing/kernel"
require "onewrite/timing/record"
require "onewrite/timing/redact"
require "onewrite/wire/nodelay"

module Onewrite
  module NetHTTP
    # Options of one session, in one variable that is there only where an option is set. Included also when ONEWRITE_DISABLED
    # is set, so that a program that sets them still runs.
    module SessionOptions
      NONE = {}.freeze
      private_constant :NONE

      # @return [#call, nil] gets the {Timing} of each call of this session, beside the blocks of {Onewrite.on_timing}
      def onewrite_timing
        onewrite_options[:timing]
      end

      # @return [TimingListener, #on_event, nil] gets each {Event} of this session
      def onewrite_listener
        onewrite_options[:listener]
      end

      # @return [Boolean, nil] TCP_NODELAY for the connections this session opens: true, false, or nil for on. true and
      #   false win over the option nodelay_disabled.
      def onewrite_nodelay
        onewrite_options[:nodelay]
      end

      def onewrite_timing=(hook)
        raise ArgumentError, "onewrite_timing answers call, or is nil" unless hook.nil? || hook.respond_to?(:call)

        onewrite_set(timing: hook)
      end

      def onewrite_listener=(hook)
        raise ArgumentError, "onewrite_listener answers on_event, or is nil" unless hook.nil? || hook.respond_to?(:on_event)

        onewrite_set(listener: hook)
      end

      def onewrite_nodelay=(choice)
        onewrite_set(nodelay: choice)
      end

      private

      def onewrite_options
        defined?(@onewrite_options) ? @onewrite_options : NONE
      end

      def onewrite_set(values)
        options = onewrite_options.merge(values).reject { |_, value| value.nil? }.freeze
        return @onewrite_options = options unless options.empty?

        remove_instance_variable(:@onewrite_options) if defined?(@onewrite_options)
      end
    end

    # For Net::HTTP: connections and exchanges.
    #
    # `request` and `connect` are not patched: tracers patch them, some by alias chains and some by prepending. The methods here
    # are private, and no known gem patches them, except Semian, which prepends `transport_request`.
    module Session
      CALL = Hooks::CALL
      private_constant :CALL

      private

      # The last step of `connect` since Ruby 1.8, empty in the standard library.
      # Why this method: a subclass that overrides it and calls super runs after this one, so the subclass's TCP_NODELAY wins.
      # Not reached: a subclass whose `connect` does not call it; begin_transport finds those connections.
      def on_connect
        onewrite_stock_on_connect
        return unless Config.current.enabled

        onewrite_adopt
        @socket.onewrite_by_library = true if Socket === @socket
        call = onewrite_call
        call.connected(Clock.now) if call
      end

      # The TLS handshake. In Net::Protocol since Ruby 2.3; before that the handshake is part of `connect`.
      def ssl_socket_connect(socket, timeout)
        call = onewrite_call
        return onewrite_stock_ssl_socket_connect(socket, timeout) unless call

        call.tls_start = Clock.now
        result = onewrite_stock_ssl_socket_connect(socket, timeout)
        call.tls_end = Clock.now
        result
      end

      # `start` connects outside of any request.
      # Why this method: it wraps `connect` and is called for `start` alone.
      # Not known here: the request that will use the connection. The record of a `start` that fails has an empty method.
      def do_start # rubocop:disable Metrics/MethodLength
        outer = Thread.current[CALL]
        hooks = onewrite_hooks(outer)
        return onewrite_stock_do_start unless hooks

        call = Timing.new(onewrite_origin, Clock.anchor, self, outer)
        begin
          Thread.current[CALL] = call
          onewrite_stock_do_start
          onewrite_adopt
          @socket.onewrite_opening = call if Socket === @socket
          call.session = call.outer = nil
          started = true
        rescue Exception => e # rubocop:disable Lint/RescueException -- raised again
          raise
        ensure
          if started
            Thread.current[CALL] = outer
          else
            call.path = "/"
            call.listeners = hooks.listeners unless hooks.listeners.empty?
            call.connected(nil)
            begin
              call.finish(nil, e, false)
            ensure
              Hooks.give(hooks.timings, call, Hooks::Running.new(nil, outer))
            end
          end
        end
      end

      # Runs before each attempt, and may reconnect.
      # Why this method: only here is decided which connection carries the request. It runs again for each repetition.
      # A connection whose last request was given up, or is written in part, is closed (SAME-7). Not earlier: the program may
      # have taken it over.
      def begin_transport(req) # rubocop:disable Metrics -- each method call costs
        before = @socket if Socket === @socket
        call = before ? before.onewrite_call : onewrite_call
        settings = Config.current
        # A call that has begun is recorded to its end.
        return onewrite_stock_begin_transport(req) unless call || settings.enabled

        if call
          call.index || call.listeners ? call.attempt : call.index = 0
        end
        before.close if before && (before.onewrite_given_up || before.onewrite_sending) && settings.wire
        begin
          onewrite_stock_begin_transport(req)
          ready = true
        ensure
          call.connected(nil) if call && !ready && @socket && @socket.closed?
        end
        unless before && before.equal?(@socket)
          before.onewrite_call = nil if before && call
          onewrite_adopt
          return unless Socket === @socket
        end
        socket = @socket
        requests = socket.onewrite_requests += 1
        socket.onewrite_call = call
        return unless call

        call.socket = socket
        call.conn_id = socket.onewrite_id
        call.conn_requests = requests
        call.idle_since = socket.onewrite_idle_since
        call.proxy = (socket.onewrite_common ||= onewrite_common)[2]
        socket.onewrite_counters ||= [TcpInfo.read(socket.onewrite_tcp), requests - 1]
        call.emit_acquired if call.listeners
      end

      # One request with its repetitions.
      # Why this method: it wraps all attempts, and whatever ends the request early passes here (an error, `break`,
      # Timeout.timeout, Thread#kill). Net::HTTP closes the socket only after a StandardError; after another end the next caller
      # would read the rest of the answer. This is the only place where the gem does other than the library (SAME-7).
      # Not measured: what tracers and the program do around `request`.
      #
      # One long method, because each method call costs.
      def transport_request(req, &block) # rubocop:disable Metrics
        settings = Config.current
        begin
          hooks = Hooks.current if settings.hooks
        rescue StandardError # Ractor::IsolationError: hooks belong to the main Ractor
          hooks = nil
        end
        if hooks || defined?(@onewrite_options)
          thread = Thread.current
          outer = thread[CALL]
          hooks = onewrite_hooks(outer) if outer || defined?(@onewrite_options)
          hooks = nil if thread.frozen? # it takes no variable
        end
        if Socket === @socket
          before = @socket
          raise SessionInUseError if (busy = before.onewrite_call) && busy.hook

          opening = before.onewrite_opening
          before.onewrite_opening = nil
        end
        unless hooks
          before.onewrite_call = nil if before && before.onewrite_call # of the request in whose block this one is made
          return onewrite_stock_transport_request(req, &block) unless settings.wire
        end

        begin
          response = socket = inside = call = nil
          if hooks
            common = before.onewrite_common ||= onewrite_common if before
            if opening && opening.just_opened?
              call = opening
              call.session = self
              call.outer = outer
            else
              common ||= [onewrite_origin, Clock.anchor]
              call = Timing.new(common[0], common[1], self, outer)
            end
            thread[CALL] = call
            before.onewrite_call = call if before
            unless hooks.listeners.empty?
              call.listeners = hooks.listeners
              call.name(req)
            end
          end
          result =
            if block_given? # not `block`, which makes a Proc and moves the variables of its callers to the heap
              onewrite_stock_transport_request(req) do |res|
                socket = @socket
                response = res
                if call
                  call.emit_headers if call.listeners
                  call.answered if res.__send__(:onewrite_empty?)
                end
                inside = true
                value = yield res
                inside = false
                value
              end
            else
              # Without a block of ours: the library does not repeat a request whose block was called.
              onewrite_stock_transport_request(req)
            end
          finished = true
          call.finish(req, nil, true, result, block_given?) if call
          result
        rescue Exception => e # rubocop:disable Lint/RescueException -- raised again
          raise
        ensure
          onewrite_give_up(req, response, socket) unless finished || !settings.wire
          if call
            @socket.onewrite_call = (outer if Timing === outer && outer.session.equal?(self)) if Socket === @socket
            begin
              call.finish(req, e, inside && Thread.current.status != "aborting") unless call.frozen?
            ensure
              Hooks.give(hooks.timings, call, Hooks::Running.new(nil, outer))
            end
          end
        end
      end

      # @param outer [Timing, Hooks::Running, nil] the call in whose block this one is made, or the hook that makes it
      # @return [Hooks::Set, nil] the hooks of a call that begins now
      # @raise [SessionInUseError] in a listener of a call that this session has under way
      def onewrite_hooks(outer)
        raise SessionInUseError if Timing === outer && outer.hook && outer.session.equal?(self)
        return nil if !Config.current.hooks || Thread.current.frozen?

        options = onewrite_options
        set = Hooks.with(options[:timing], options[:listener])
        set && outer ? set.without(Hooks.running(outer)) : set
      end

      # @return [Timing, nil] this session's call under way
      def onewrite_call
        call = Thread.current[CALL]
        call if Timing === call && call.session.equal?(self)
      end

      # @return [Array] what the timed calls of a connection have in common: origin, wall clock, proxy. The clock is anew for
      #   each connection, because it may be set.
      def onewrite_common
        [onewrite_origin, Clock.anchor, (onewrite_proxy if @socket.onewrite_by_library && @socket.onewrite_tcp)].freeze
      end

      def onewrite_origin
        Redact.origin(use_ssl?, address, port)
      end

      # @return [String, nil] host and port of the proxy that a new connection goes through
      def onewrite_proxy
        Redact.authority(proxy_address, proxy_port) if proxy?
      rescue StandardError # of a URL in the environment
        nil
      end

      # @return [String] what a new connection goes to
      def onewrite_peer
        onewrite_proxy || Redact.authority(respond_to?(:conn_address, true) ? conn_address : address, port)
      end

      # No other request gets the connection of a request that was given up, unless nothing of its response is left there, or it
      # is a tunnel. A socket of another class is closed at once.
      # @param response [Net::HTTPResponse, nil] that the caller got, from *socket*
      def onewrite_give_up(req, response, socket)
        return if !@socket || @socket.closed?
        return if response && socket.equal?(@socket) &&
                  (response.instance_variable_get(:@read) || response.__send__(:onewrite_empty?) ||
                   (Net::HTTPSuccess === response && Net::HTTPGenericRequest === req && req.method == "CONNECT"))

        Socket === @socket ? @socket.onewrite_given_up = true : @socket.close
      end

      # Takes the library's socket over, and sets TCP_NODELAY. An object that stands in for a Net::BufferedIO stays.
      def onewrite_adopt
        socket = @socket
        return if Socket === socket || !(Socket.superclass === socket)

        settings = Config.current
        choice = onewrite_nodelay
        nodelay = settings.wire && (!choice.nil? || settings.nodelay)
        @socket = Socket.take_over(socket) if Socket.takes?(socket) && !frozen?
        Wire::Nodelay.set(Wire::Nodelay.tcp(socket.io), choice != false) if nodelay
      end
    end
  end
end
